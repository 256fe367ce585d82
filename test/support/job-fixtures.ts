import type { JobsLimits } from '#actors/jobs/job-transitions.ts';
import type { JobRequest, NewJob } from '#runtime/jobs/job.ts';
import { jobIdOf } from '#runtime/jobs/job-id.ts';
import type { JobScope } from '#runtime/jobs/ports.ts';
import { systemRandom, uuidV7 } from '#runtime/base/random.ts';
import { TENANT } from './engine.ts';

/** Limits of the jobs of a repository under test. */
export const jobsLimits: JobsLimits = {
  activeMax: 50,
  finalMax: 20,
  retentionMs: 3_600_000,
  deadLetterMs: 7_200_000,
};

/** A repository under test. */
export const JOB_SCOPE: JobScope = `${TENANT}/site~0123456789`;

/** Another one. */
export const OTHER_JOB_SCOPE: JobScope = `${TENANT}/blog~9876543210`;

let made = 0;

/** A job nobody has enqueued yet; later ones sort behind. */
export function newJob(request: Partial<JobRequest> = {}, scope: JobScope = JOB_SCOPE): NewJob {
  made += 1;
  const id = jobIdOf(uuidV7(1_700_000_000_000 + made, systemRandom), scope.split('/')[1] as string);
  return { id, type: 'Test', about: `job ${made}`, payload: { made }, ...request };
}
