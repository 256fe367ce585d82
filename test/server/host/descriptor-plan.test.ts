import { describe, expect, it } from 'vitest';
import { openFilesMax, planDescriptors, tooFewFiles } from '#server/host/descriptor-plan.ts';

const wanted = { connectionsMax: 8_192, openActorsMax: 1_024 };

describe('open files', () => {
  it('are enough for what is configured, or are not known: nothing changes', () => {
    expect(planDescriptors(1_048_576, wanted)).toEqual(wanted);
    expect(planDescriptors(undefined, wanted)).toEqual(wanted);
  });

  it.each([128, 256, 1_024, 4_096, 10_000])('of which there are %i leave what the journal needs', (files) => {
    const plan = planDescriptors(files, wanted);
    expect(plan.connectionsMax + 3 * plan.openActorsMax + 64).toBeLessThanOrEqual(files);
    expect(plan.connectionsMax).toBeGreaterThanOrEqual(32);
    expect(plan.openActorsMax).toBeGreaterThanOrEqual(10);
  });

  it('that shards do not want are for connections', () => {
    expect(planDescriptors(1_024, { connectionsMax: 8_192, openActorsMax: 8 })).toEqual({
      connectionsMax: 936,
      openActorsMax: 8,
    });
  });

  it('too few for any work refuse the start, with the remedy', () => {
    expect(tooFewFiles(40)).toContain('40 open files, and it needs 96');
    expect(tooFewFiles(95)).toContain('ulimit -n');
    expect(tooFewFiles(96)).toBeUndefined();
    expect(tooFewFiles(undefined)).toBeUndefined();
    const { connectionsMax, openActorsMax } = planDescriptors(96, wanted);
    expect(connectionsMax + 3 * openActorsMax + 64).toBeLessThanOrEqual(96);
  });

  it('are asked of the system', () => {
    expect(openFilesMax()).toBeGreaterThan(64);
  });
});
