import { expect, it } from 'vitest';
import type { Keepers } from '#cluster/flush-journal/keepers.ts';
import { ReplicaSurvey, type SurveyResult } from '#cluster/flush-journal/replica-survey.ts';
import { noStanding, type Standing } from '#cluster/flush-journal/standing.ts';
import { TestClock } from '#test/support/test-clock.ts';

const NAMES = ['m1', 'm2', 'm3'];
const KEEPERS: Keepers = { old: NAMES, new: NAMES };
const OTHERS: Keepers = { old: ['m1', 'm4'], new: ['m1', 'm4'] };

/** Where the member that asks stands. */
const OWN = { epoch: 2, sequence: 20 };

function standing(member: string, changed: Partial<Standing> = {}): Standing {
  return { ...noStanding(member), identity: 'memory', ...OWN, ...changed };
}

/** What `m1` learns. @param own the keepers as its journal knows them */
function asked(own: Keepers | undefined, ...told: Standing[]): Promise<SurveyResult> {
  const survey = new ReplicaSurvey({
    partition: 1,
    member: 'm1',
    standings: {
      ask: async (_, hear) => {
        for (const each of told) hear(each);
      },
    },
    others: () => told.length,
    keepers: () => own,
    needsMajority: true,
    clock: new TestClock(),
  });
  return survey.once(OWN);
}

it('counts no member that has nothing of the partition, as after its disk was lost', async () => {
  expect(await asked(KEEPERS, noStanding('m2'), noStanding('m3'))).toMatchObject({ isEnough: false });
  expect(await asked(KEEPERS, noStanding('m2'), standing('m3'))).toMatchObject({ isEnough: true });
});

it('believes its own journal of the keepers, whoever else was told of others', async () => {
  const result = await asked(KEEPERS, standing('m4', { keepers: OTHERS, sequence: 21 }));
  expect(result).toMatchObject({ keepers: KEEPERS, isEnough: false });
});

it('learns the keepers of whoever has most of the log, and of nobody who has less than itself', async () => {
  const [older, newer] = [
    standing('m2', { keepers: OTHERS }),
    standing('m3', { keepers: KEEPERS, sequence: 21 }),
  ];
  for (const told of [
    [older, newer],
    [newer, older],
  ])
    expect((await asked(undefined, ...told)).keepers).toEqual(KEEPERS);
  const behind = standing('m2', { keepers: OTHERS, sequence: 19 });
  expect((await asked(undefined, behind)).keepers).toBeUndefined();
});
