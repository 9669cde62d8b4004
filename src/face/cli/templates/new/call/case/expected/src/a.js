// console.log("not a call")
logger.info("total", sum(1, 2));
const text = "console.log(1)";
