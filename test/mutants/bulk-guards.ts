import type { GuardMutant } from './guard-mutant.ts';

const submittedTests = ['test/actors/jobs/submitted-jobs.test.ts'];
const bulkTests = ['test/server/jobs/bulk-sql.test.ts'];
const progressTests = ['test/actors/branch/sql/changes/bulk-progress.test.ts'];
const callerTests = ['test/server/jobs/statement-callers.test.ts'];
const adminTests = ['test/protocols/admin/admin-access.test.ts'];
const runnerTests = ['test/server/jobs/job-runner.test.ts'];

const jobsActor = 'actors/jobs/jobs-actor.ts';
const progress = 'actors/branch/sql/changes/bulk-progress.ts';

/** The safety guards of statements that are done as jobs. */
export const bulkGuards: readonly GuardMutant[] = [
  {
    guard: 'a job is read by the caller who has submitted it, and by no other',
    file: jobsActor,
    from: 'submitter === principalKey(principal)',
    to: 'submitter !== undefined',
    tests: submittedTests,
  },
  {
    guard: 'an anonymous caller reads no job of another one',
    file: jobsActor,
    from: "principal.kind !== 'anonymous' && ",
    to: '',
    tests: submittedTests,
  },
  {
    guard: 'a caller of another tenant with the same id reads no job',
    file: jobsActor,
    from: 'return caller.principal.tenant === this.#tenant && isSubmitter(job, caller);',
    to: 'return isSubmitter(job, caller);',
    tests: submittedTests,
  },
  {
    guard: 'a job is cancelled only by those who may read it',
    file: jobsActor,
    from: 'this.#requireReadable(command.id, turn, turn.caller);',
    to: '',
    tests: submittedTests,
  },
  {
    guard: 'active jobs of one caller are bounded',
    file: 'actors/jobs/job-transitions.ts',
    from: 'submitted >= SUBMITTED_JOBS_MAX',
    to: 'submitted >= 10 * SUBMITTED_JOBS_MAX',
    tests: submittedTests,
  },
  {
    guard: 'who submits many jobs does not keep those of others waiting',
    file: 'actors/jobs/job-transitions.ts',
    from: 'submitted < SUBMITTED_FIRST',
    to: 'submitted < 10 * SUBMITTED_FIRST',
    tests: submittedTests,
  },
  {
    guard: 'one caller has at most half of the workers of a member',
    file: 'server/jobs/job-runner.ts',
    from: 'Math.floor(this.#workers / 2)',
    to: 'this.#workers',
    tests: ['test/server/jobs/job-runner.test.ts'],
    only: 'by half for one caller',
  },
  {
    guard: 'a bulk statement whose caller may change nothing gets no job',
    file: 'actors/branch/sql/changes/bulk-statements.ts',
    from: 'if (policy.mayAllow(operation, bound.workspace)) return;',
    to: 'if (operation !== undefined) return;',
    tests: ['test/actors/branch/sql/changes/bulk-statements.test.ts'],
    only: 'refused at once',
  },
  {
    guard: 'a part that is done is not done again',
    file: progress,
    from: 'part <= known.parts',
    to: 'part < known.parts',
    tests: progressTests,
  },
  {
    guard: 'a part is done after the one before it',
    file: progress,
    from: 'if (part !== (known?.parts ?? 0) + 1)',
    to: 'if (false)',
    tests: progressTests,
  },
  {
    guard: 'a job whose progress may have been removed is not begun',
    file: progress,
    from: 'turn.ageMs(jobCreatedMs(job)) > BEGUN_WITHIN_MS',
    to: 'turn.ageMs(jobCreatedMs(job)) > 2 * BEGUN_WITHIN_MS',
    tests: progressTests,
  },
  {
    guard: 'progress is removed only of jobs that are not begun any more',
    file: progress,
    from: 'turn.ageMs(jobCreatedMs(key.slice(PREFIX.length))) <= FORGOTTEN_MS',
    to: 'turn.ageMs(jobCreatedMs(key.slice(PREFIX.length))) <= 0',
    tests: progressTests,
  },
  {
    guard: 'the progress of a job is kept until its outcome is stored',
    file: 'server/jobs/job-runner.ts',
    from: 'if (await this.#queue.complete(this.#claim, result)) await this.#cleanUp();',
    to: 'await this.#queue.complete(this.#claim, result); await this.#cleanUp();',
    tests: runnerTests,
  },
  {
    guard: 'the progress of a job that is tried again is kept',
    file: 'server/jobs/job-runner.ts',
    from: "if (outcome !== 'dead') return;",
    to: '',
    tests: runnerTests,
  },
  {
    guard: 'a statement is not continued by a worker that was told to stop',
    file: 'server/jobs/bulk-sql.ts',
    from: "if (this.#job.signal.aborted) throw new ServiceError('REQUEST_CANCELLED');",
    to: '',
    tests: bulkTests,
  },
  {
    guard: 'a statement that was restored elsewhere does not act for a caller of another tenant',
    file: 'server/jobs/statement-callers.ts',
    from: 'if (principal.tenant !== job.tenant)',
    to: 'if (false)',
    tests: callerTests,
  },
  {
    guard: 'a statement acts as a user only while its administrator may',
    file: 'server/jobs/statement-callers.ts',
    from: '        await admins.present(principal);\n        return principal;',
    to: '        return principal;',
    tests: callerTests,
  },
  {
    guard: 'a statement ends with the account of its identity',
    file: 'server/jobs/statement-callers.ts',
    from: '        await identities.present(principal);\n',
    to: '',
    tests: callerTests,
  },
  {
    guard: 'a statement ends with the account of its administrator',
    file: 'protocols/admin/admin-access.ts',
    from: "    if (!state.isActive) throw new ServiceError('ACCOUNT_DISABLED');\n",
    to: '',
    tests: adminTests,
  },
  {
    guard: 'a statement ends with the API key that has submitted it',
    file: 'protocols/admin/admin-access.ts',
    from: "if (caller === undefined) throw new ServiceError('UNAUTHORIZED', 'The API key is not valid any more');",
    to: 'if (caller === undefined) return state.caller.principal;',
    tests: adminTests,
  },
];
