import { writeSync } from 'node:fs';
import { holdProcess } from '#runtime/base/process/hold-process.ts';
import { Engine } from './engine.ts';
import { branchKinds, TestBranch } from './test-branch.ts';

/*
 * A process that writes to a branch until its shard can take no more, waits for a line on standard input, and
 * goes on: `full-shard-engine.ts <folder>`. Whoever starts it limits the size of its files, and lifts the limit
 * before the line. One line of JSON on standard output for each of the two moments.
 */
const [folder = ''] = process.argv.slice(2);

function say(what: unknown): void {
  writeSync(1, `${JSON.stringify(what)}\n`);
}

// As main.ts does: timers of the engine do not keep a process.
holdProcess();

const PENDING_BYTES_MAX = 400_000;

const engine = await Engine.open(folder, {
  kinds: branchKinds,
  // Small segments, so that the journal itself stays far below the limit.
  segmentBytes: 64 * 1024,
  limits: {
    apply: { applyBytes: 50_000, applyDelayMs: 5 },
    commit: {
      mailboxMax: 1000,
      batchCommandsMax: 100,
      batchBytesMax: 1 << 20,
      applyPendingBytesMax: PENDING_BYTES_MAX,
      idempotency: { ttlMs: 3_600_000, entriesMax: 1000 },
    },
  },
});
const branch = await new TestBranch(engine).prepare();
const text = 'x'.repeat(3000);
let made = 0;
let code = '';

async function make(): Promise<void> {
  await branch.create(`/n${made}`, { title: `t${made}`, rank: made, text });
  made += 1;
}

/** Counts the nodes that read as they were written. */
async function readable(): Promise<number> {
  let count = 0;
  for (let number = 0; number < made; number += 1)
    if ((await branch.read(`/n${number}`)).properties.title === `t${number}`) count += 1;
  return count;
}

while (code === '') {
  await make().catch((error: { code: string }) => {
    // The apply side is only behind for a moment; a full disk says so.
    if (error.code !== 'OVERLOADED') code = error.code;
  });
}
say({
  made,
  code,
  readable: await readable(),
  failures: engine.applyFailures.length > 0,
  pending: engine.host.pendingBytes > 0,
});

await new Promise((resolve) => process.stdin.once('data', resolve));
const full = made;
for (let tries = 0; made < full + 100; tries += 1) {
  await make().catch(() => new Promise((resolve) => setTimeout(resolve, 20)));
  if (tries > 5000) break;
}
say({ made, readable: await readable(), stopped: engine.stopped.length });
await engine.close();
say({ closed: true });
process.exit(0);
