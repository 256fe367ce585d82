import { expect, it } from 'vitest';
import { smallHeapWarning } from '#server/host/least-heap.ts';

const MIB = 1024 * 1024;

it('reports a heap that is smaller than a member requires', () => {
  expect(smallHeapWarning(256 * MIB)).toBeUndefined();
  expect(smallHeapWarning(256 * MIB - 1)).toMatch(
    /^the heap may grow to 255 MiB only, and 256 MiB is the least/,
  );
});
