import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { holdProcess } from '#runtime/base/process/hold-process.ts';
import { armCrashPointFromText } from '#runtime/commit/crash-point.ts';
import { acquireDataDirectory } from '#runtime/embedded/data-directory-lock.ts';
import { claimName } from '#server/host/claimed-name.ts';
import { FileConsumer, PathTally } from './feed-consumers.ts';
import { FedBranch } from './fed-branch.ts';
import { BRANCH, CONTENT } from './test-branch.ts';

/*
 * A process that runs the real engine over a folder with two consumers of a feed, and writes to the branch until it
 * dies at the crash point that `SVC_CRASH_POINT` names, or has made its writes: `feed-child.ts <folder> <round>`.
 */
const [folder = '', round = '0'] = process.argv.slice(2);

/** Writes of one process. */
const WRITES = 40;

// As main.ts does: timers of the engine do not keep a process.
holdProcess();
await acquireDataDirectory(folder, claimName);
const fed = await FedBranch.open(folder, [new PathTally(), new FileConsumer(join(folder, 'noted'))]);
fed.runner.notice(BRANCH);
// Both consumers have started before the first process dies.
await fed.settled();
armCrashPointFromText(process.env.SVC_CRASH_POINT);
for (let number = 0; number < WRITES; number++) {
  let path = `/r${round}n${number}`;
  await fed.branch.create(path);
  if (number % 3 === 1) {
    const newName = `r${round}m${number}`;
    await fed.tell({ type: 'RenameNode', workspace: CONTENT, place: { path }, newName });
    path = `/${newName}`;
  }
  // However slow the machine is, there are some batches.
  if (number % 4 === 3) await fed.settled();
  if (number % 5 === 2) await fed.tell({ type: 'DeleteNode', workspace: CONTENT, place: { path } });
}
await fed.settled();
writeSync(1, 'settled\n');
process.exit(0);
