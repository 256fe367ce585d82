import { MemberJobs } from '#server/jobs/member-jobs.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { silentLog } from '#runtime/telemetry/log-context.ts';
import type { HostFixture } from './host-fixture.ts';

/** The background jobs over a host, not started. */
export function jobsOn({ host }: HostFixture, workers: number): MemberJobs {
  return new MemberJobs({
    router: host,
    lifecycle: host,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    workers,
  });
}
