// A small server with one limiter planted in it. Arguments: PORT PLANT STRENGTH BODY_BYTES.
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { performance } from "node:perf_hooks";

const [port, plant, strength, body] = [process.argv[2], process.argv[3], process.argv[4], process.argv[5]].map(
    (word, at) => (at === 1 ? word : Number(word)),
);
const answer = Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${body}\r\n\r\n${"x".repeat(body)}`);
const kept = [];
const cell = new Int32Array(new SharedArrayBuffer(4));

function spin(us) {
    const end = performance.now() + us / 1000;
    let sum = 0;
    while (performance.now() < end) for (let n = 0; n < 500; n++) sum += n % 7;
    return sum;
}

function garbage(count) {
    for (let n = 0; n < count; n++) {
        kept.push({ n, text: `item ${n}`, list: [n] });
        if (kept.length > 300_000) kept.length = 0;
    }
}

const file = process.env.FILE && openSync(process.env.FILE, "r");
const page = Buffer.alloc(65536);
function read(share) {
    if (Math.random() >= share) return;
    const pages = Math.floor(statSync(process.env.FILE).size / 65536);
    readSync(file, page, 0, 65536, 65536 * Math.floor(Math.random() * pages));
}

const works = {
    hot: spin,
    garbage,
    disk: read,
    sleep: (us) => Atomics.wait(cell, 0, 0, us / 1000),
    calls: (count) => {
        for (let n = 0; n < count; n++) statSync("/");
    },
};
const work = works[plant] ?? (() => {});

const server = createServer({ noDelay: plant !== "nagle" }, (client) => {
    client.on("error", () => client.destroy());
    client.on("data", (request) => {
        work(strength);
        if (plant === "nagle") {
            client.write(answer.subarray(0, 20));
            setImmediate(() => client.write(answer.subarray(20)));
        } else client.write(answer);
        if (request.includes("onnection: close")) client.end();
    });
    if (plant === "accept") spin(strength);
});
server.listen(port, "127.0.0.1", plant === "accept" ? 1 : 512);
