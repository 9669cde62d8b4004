import { sum } from './total';

console.log('total', sum([1]), { total: sum });
