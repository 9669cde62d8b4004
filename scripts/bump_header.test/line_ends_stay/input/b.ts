export {};
