import type { GuardMutant } from './guard-mutant.ts';

const actorTest = ['test/actors/jobs/jobs-actor.test.ts'];

/** The safety guards of the queues of jobs: no job is passed over for good. */
export const jobGuards: readonly GuardMutant[] = [
  {
    guard: 'a job that waits before what claims have passed is found',
    file: 'actors/jobs/job-store.ts',
    from: "if (job.state === 'scheduled') passed.written(job);",
    to: '',
    tests: actorTest,
  },
  {
    guard: 'a search that was given up is not the end of the queue',
    file: 'actors/jobs/job-transitions.ts',
    from: 'if (!first.isTaken) return undefined;',
    to: 'if (!first.isTaken) continue;',
    tests: ['test/actors/jobs/submitted-jobs.test.ts'],
  },
  {
    guard: 'a job that waits in a stretch without jobs of its type ends the stretch',
    file: 'actors/jobs/passed-jobs.ts',
    from: '} else if (key >= passed.behind && key < passed.until) passed.behind = key + DIRECTLY_BEHIND;',
    to: '}',
    tests: actorTest,
  },
  {
    guard: 'what was passed in a claim that did not become durable is looked at again',
    file: 'actors/jobs/jobs-actor.ts',
    from: 'this.#queue.passed.forget();',
    to: '',
    tests: actorTest,
  },
  {
    guard: 'a commit enqueues only where a start finds its outbox',
    file: 'runtime/jobs/outbox.ts',
    from: "actorKindOf(actor) !== 'repository' && !mayEnqueue(turn)",
    to: 'false',
    tests: ['test/server/jobs/branch-jobs.test.ts'],
  },
  {
    guard: 'a start delivers the outboxes of branches',
    file: 'server/jobs/member-jobs.ts',
    from: 'if (await this.#lifecycle.exists(actor)) await this.#relay.deliver(actor);',
    to: 'if (await this.#lifecycle.exists(actor)) continue;',
    tests: ['test/server/jobs/branch-jobs.test.ts'],
  },
  {
    guard: 'the job of an index is listed when the write of the definition is answered',
    file: 'protocols/rest/schema/definitions.ts',
    from: '  await context.jobs.indexBuildListed(branch.actor);\n  return {',
    to: '  return {',
    tests: ['test/scenarios/listed-index-build.test.ts'],
  },
];
