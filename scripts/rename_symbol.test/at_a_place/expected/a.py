def f(size):
    return size


def g(items):
    count = len(items)
    return f(count)
