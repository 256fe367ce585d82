import { expect, it } from 'vitest';
import { Disturbance } from '../../../bench/support/disturbance.ts';
import { alternate } from '../../../bench/support/rounds.ts';
import { cpuOf } from '../../../bench/support/table.ts';

it('reports the processor time of each part of a server separately', async () => {
  const work = (): Promise<{ requests: number; perSecond: number }> => {
    // Until the kernel has counted some of it, which it does a hundred times a second.
    const start = process.cpuUsage().user;
    while (process.cpuUsage().user - start < 50_000);
    return Promise.resolve({ requests: 10, perSecond: 1 });
  };
  const effort = { rounds: 1, seconds: 1, disturbance: new Disturbance(0) };
  const [[sample] = []] = await alternate(effort, [
    { name: 'split', pid: { busy: [process.pid], idle: [] }, run: work },
  ]);
  if (sample === undefined) throw new Error('nothing was measured');
  expect(sample.partsUs.busy).toBeGreaterThan(0);
  expect(sample.partsUs.idle).toBe(0);
  expect(sample.cpuUs).toBe(sample.partsUs.busy);
  expect(cpuOf([sample], 'idle')).toBe('0.0');
});
