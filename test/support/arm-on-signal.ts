import { readFileSync, rmSync } from 'node:fs';
import { armCrashPointFromText } from '#runtime/commit/crash-point.ts';

/*
 * Loaded into a member before its main file: SIGUSR2 arms the crash point that a file names. Points that every commit
 * passes can so be met at a given request, and by the member that owns what the request is about. `block:<milliseconds>`
 * in the file lets its event loop stand still instead, while its threads and its connections go on.
 */
const file = process.env.GROVE_TEST_POINT_FILE as string;

process.on('SIGUSR2', () => {
  const text = readFileSync(file, 'utf8');
  const blockMs = /^block:(\d+)$/.exec(text)?.[1];
  if (blockMs === undefined) armCrashPointFromText(text);
  // Tells whoever asked that it is done.
  rmSync(file);
  if (blockMs !== undefined) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(blockMs));
});
