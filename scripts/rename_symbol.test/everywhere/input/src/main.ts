import { total } from './total';

console.log('total', total([1]), { total });
