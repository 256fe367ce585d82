import { writeSync } from 'node:fs';
import { holdProcess } from '#runtime/base/process/hold-process.ts';
import { armCrashPointFromText } from '#runtime/commit/crash-point.ts';
import { acquireDataDirectory } from '#runtime/embedded/data-directory-lock.ts';
import { ProjectionConsumer } from '#runtime/projection/projection-consumer.ts';
import { statisticsProjection } from '#runtime/statistics/statistics-projection.ts';
import { claimName } from '#server/host/claimed-name.ts';
import { FedBranch } from './fed-branch.ts';
import { BRANCH, CONTENT } from './test-branch.ts';

/*
 * A process that runs the real engine over a folder with a projection, and writes to the branch while the projection is
 * built again and again, until it dies at the crash point that `SVC_CRASH_POINT` names, or has made its writes:
 * `projection-child.ts <folder> <round>`.
 */
const [folder = '', round = '0'] = process.argv.slice(2);

/** Writes of one process. */
const WRITES = 40;

const { name } = statisticsProjection;

// As main.ts does: timers of the engine do not keep a process.
holdProcess();
await acquireDataDirectory(folder, claimName);
const fed = await FedBranch.open(folder, [
  new ProjectionConsumer(statisticsProjection, { nodes: 7, rows: 20 }),
]);
armCrashPointFromText(process.env.SVC_CRASH_POINT);
for (let number = 0; number < WRITES; number++) {
  const path = `/r${round}n${number}`;
  await fed.branch.create(path, { title: path, [`p${number}`]: number % 2 === 0 ? number : 'text' });
  if (number % 10 === 0) await fed.tell({ type: 'BuildProjection', name });
  fed.runner.hurry(BRANCH, name);
  // However slow the machine is, there are some batches, and some of several commits.
  if (number % 4 === 3) await fed.settled();
  if (number % 5 === 2) await fed.tell({ type: 'DeleteNode', workspace: CONTENT, place: { path } });
}
fed.runner.hurry(BRANCH, name);
await fed.settled();
writeSync(1, 'settled\n');
process.exit(0);
