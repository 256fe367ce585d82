/**
 * Question: how fast is the engine without HTTP? Durable creates by 64 concurrent writers into one branch, and
 * point reads by path, through the actor host, the journal and LMDB.
 *
 * Run: npx node bench/engine.bench.ts [seconds]
 */
import { BareEngine } from './support/bare-engine.ts';

/** Most different nodes that are read, so that a longer run does not read a larger store. */
const READ_MAX = 8_000;

const seconds = Number(process.argv[2] ?? 5);
const engine = await BareEngine.open();
const { branch, caller, host } = engine;
const type = {
  name: 'bench:Article',
  properties: [
    { name: 'title', type: 'String', required: true },
    { name: 'author', type: 'String', index: ['Property'] },
    { name: 'rank', type: 'Number', index: ['Property'] },
  ],
};
await host.command(branch, { type: 'PutDefinition', kind: 'node_type', definition: type }, { caller });

/** Names of the created nodes. Their number for each writer depends on the machine and the duration. */
const names: string[] = [];
const until = performance.now() + seconds * 1000;
const body = 'Lorem ipsum dolor sit amet, consectetur adipiscing elit. '.repeat(3);
const cpu = process.cpuUsage();
async function writer(number: number): Promise<void> {
  for (let index = 0; performance.now() < until; index++) {
    const name = `n-${number}-${index}`;
    const node = {
      name,
      nodeType: 'bench:Article',
      properties: {
        title: `Title ${index}`,
        author: `author-${index % 100}`,
        rank: index,
        body,
        tags: ['a', 'b'],
      },
    };
    await host.command(
      branch,
      { type: 'CreateNode', workspace: 'content', parentPath: '/', node, deep: false },
      { caller },
    );
    names.push(name);
  }
}
await Promise.all(Array.from({ length: 64 }, (_, number) => writer(number)));
const used = process.cpuUsage(cpu);
const made = names.length;
console.log(
  `creates/s ${Math.round(made / seconds)}  cpu us per create: user ${(used.user / made).toFixed(1)} system ${(used.system / made).toFixed(1)}`,
);
await new Promise((resolve) => setTimeout(resolve, 300));
let read = 0;
let bytes = 0;
const readable = Math.min(made, READ_MAX);
const readUntil = performance.now() + 2000;
while (performance.now() < readUntil) {
  for (let index = 0; index < 200; index++) {
    const path = `/${names[read % readable]}`;
    bytes += (
      host.query(branch, { type: 'ReadNode', workspace: 'content', place: { path } }, caller) as {
        text: string;
      }
    ).text.length;
    read += 1;
  }
}
console.log(`reads/s ${Math.round(read / 2)}  bytes ${Math.round(bytes / read)}`);
await engine.remove();
