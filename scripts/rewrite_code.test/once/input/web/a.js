log("a");
log("b", ctx);
run(log(log("c")));
