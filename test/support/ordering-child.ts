import { writeSync } from 'node:fs';
import { holdProcess } from '#runtime/base/process/hold-process.ts';
import { armCrashPointFromText } from '#runtime/commit/crash-point.ts';
import { acquireDataDirectory } from '#runtime/embedded/data-directory-lock.ts';
import { claimName } from '#server/host/claimed-name.ts';
import { OrderingBranch } from './ordering-branch.ts';

/*
 * A process whose branch enqueues a job for each node it creates, until it dies at the crash point that
 * `SVC_CRASH_POINT` names, or has created them: `ordering-child.ts <folder> <round>`.
 */
const [folder = '', round = '0'] = process.argv.slice(2);

/** Nodes of one process. */
const NODES = 30;

holdProcess();
await acquireDataDirectory(folder, claimName);
const ordering = await OrderingBranch.open(folder);
await ordering.prepare();
await ordering.takeUp();
armCrashPointFromText(process.env.SVC_CRASH_POINT);
for (let number = 0; number < NODES; number++) {
  await ordering.branch.create(`/r${round}n${number}`);
  if (number % 4 === 3) await ordering.settled();
}
await ordering.settled();
writeSync(1, 'settled\n');
process.exit(0);
