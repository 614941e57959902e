"""A command that counts words and goes round a loop for each of some rounds."""


def hot(rounds):
    value = 1
    for turn in range(rounds):
        value = (value * 1664525 + turn) % 4294967296
    return value


def words():
    counts = {}
    for number in range(60_000):
        word = "w%d" % (number * 7919 % 1013)
        counts[word] = counts.get(word, 0) + 1
    return counts


print(hot(int(open("rounds").read())), len(words()))
