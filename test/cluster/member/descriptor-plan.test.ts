import { describe, expect, it } from 'vitest';
import { openFilesMax, planDescriptors } from '#cluster/member/descriptor-plan.ts';

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

  it('are asked of the system', () => {
    expect(openFilesMax()).toBeGreaterThan(64);
  });
});
