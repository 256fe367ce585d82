import { expect, it } from 'vitest';
import type { Voters } from '#cluster/replica-durability/voters.ts';
import { ReplicaSurvey, type SurveyResult } from '#cluster/replica-durability/replica-survey.ts';
import { noReplicaStatus, type ReplicaStatus } from '#cluster/replica-durability/replica-status.ts';
import { TestClock } from '#test/support/test-clock.ts';

const NAMES = ['m1', 'm2', 'm3'];
const VOTERS: Voters = { old: NAMES, new: NAMES };
const OTHERS: Voters = { old: ['m1', 'm4'], new: ['m1', 'm4'] };

/** Where the member that asks stands. */
const OWN = { epoch: 2, sequence: 20 };

function status(member: string, changed: Partial<ReplicaStatus> = {}): ReplicaStatus {
  return { ...noReplicaStatus(member), identity: 'memory', ...OWN, ...changed };
}

/** What `m1` learns. @param own the voters as its journal knows them */
function asked(own: Voters | undefined, ...told: ReplicaStatus[]): Promise<SurveyResult> {
  const survey = new ReplicaSurvey({
    partition: 1,
    member: 'm1',
    statuses: {
      ask: async (_, hear) => {
        for (const each of told) hear(each);
      },
    },
    others: () => told.length,
    voters: () => own,
    needsMajority: true,
    clock: new TestClock(),
  });
  return survey.once(OWN);
}

it('counts no member that has nothing of the partition, as after its disk was lost', async () => {
  expect(await asked(VOTERS, noReplicaStatus('m2'), noReplicaStatus('m3'))).toMatchObject({
    isEnough: false,
  });
  expect(await asked(VOTERS, noReplicaStatus('m2'), status('m3'))).toMatchObject({ isEnough: true });
});

it('prefers the voters of its own journal to those that others report', async () => {
  const result = await asked(VOTERS, status('m4', { voters: OTHERS, sequence: 21 }));
  expect(result).toMatchObject({ voters: VOTERS, isEnough: false });
});

it('learns the voters from the member with most of the log, and from no member that has less than itself', async () => {
  const [older, newer] = [status('m2', { voters: OTHERS }), status('m3', { voters: VOTERS, sequence: 21 })];
  for (const told of [
    [older, newer],
    [newer, older],
  ])
    expect((await asked(undefined, ...told)).voters).toEqual(VOTERS);
  const behind = status('m2', { voters: OTHERS, sequence: 19 });
  expect((await asked(undefined, behind)).voters).toBeUndefined();
});
