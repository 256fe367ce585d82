import { expect, it } from 'vitest';
import { hostLimits } from '#server/host/host-limits.ts';
import { changeBytesMax } from '#runtime/base/event-loop/change-room.ts';
import { COMMIT_BYTES_MAX } from '#runtime/commit/turn-scope.ts';
import { defaultLimits } from '#runtime/config/options.ts';

it('lets one commit have as many bytes as all together may have, and as the log takes', () => {
  const { commitBytesMax } = hostLimits(defaultLimits).commit;
  expect(commitBytesMax).toBe(Math.min(COMMIT_BYTES_MAX, changeBytesMax()));
});
