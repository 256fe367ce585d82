import { existsSync, readFileSync, writeSync } from 'node:fs';
import type { ActorId } from '#runtime/actor/ports.ts';
import { holdProcess } from '#runtime/base/process/hold-process.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { armCrashPointFromText } from '#runtime/commit/crash-point.ts';
import { loadOptions } from '#runtime/config/load-options.ts';
import { createLog } from '#runtime/telemetry/log-context.ts';
import { drainOnSignals } from '#server/drain.ts';
import { startMember } from '#server/wiring.ts';
import { FileConsumer, PathTally } from './feed-consumers.ts';

/*
 * A member as `server/main.ts` runs it, whose branches have two consumers: one with rows in the branch, and one that
 * writes into the file `FEED_NOTED`. `FEED_ENDED` lets it die when it is told of a removed branch: before or after it
 * has noted that.
 */

/** Dies when it is told of the end of a branch. */
class MortalConsumer extends FileConsumer {
  override async ended(branch: ActorId): Promise<void> {
    if (process.env.FEED_ENDED === 'before') process.kill(process.pid, 'SIGKILL');
    await super.ended(branch);
    if (process.env.FEED_ENDED === 'after') process.kill(process.pid, 'SIGKILL');
  }
}

holdProcess();
armCrashPointFromText(process.env.SVC_CRASH_POINT);
const options = loadOptions(process.env, (path) =>
  existsSync(path) ? readFileSync(path, 'utf8') : undefined,
);
const log = createLog({
  level: options.server.logLevel,
  clock: systemClock,
  sink: { write: (line) => void writeSync(1, `${line}\n`) },
});
const member = await startMember({
  options,
  clock: systemClock,
  random: systemRandom,
  log,
  version: '0.0.0-test',
  print: () => {},
  feedConsumers: [new PathTally(), new MortalConsumer(process.env.FEED_NOTED as string)],
});
drainOnSignals(
  process,
  { drain: () => member.drain(options.server.shutdownGraceMs), exit: (code) => process.exit(code) },
  systemClock,
);
log.info('ready', { port: member.port });
