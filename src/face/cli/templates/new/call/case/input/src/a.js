// console.log("not a call")
console.log("total", sum(1, 2));
const text = "console.log(1)";
