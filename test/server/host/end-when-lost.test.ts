import { expect, it } from 'vitest';
import { endWhenLost } from '#server/host/end-when-lost.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { TestClock } from '#test/support/test-clock.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('ends a member when its lock is lost, and not while that is unknown', async () => {
  const clock = new TestClock();
  const said: string[] = [];
  const ended: unknown[] = [];
  const log = {
    error: (text: string) => void said.push(`error ${text}`),
    info: (text: string) => void said.push(`info ${text}`),
    warn: (text: string) => void said.push(`warn ${text}`),
  };
  let trouble: Error | undefined;
  const lock = {
    requireHeld: (): void => {
      if (trouble !== undefined) throw trouble;
    },
  };
  const look = async (): Promise<void> => {
    clock.advance(1_000);
    await turn();
  };
  endWhenLost({ clock, end: (cause) => void ended.push(cause), lock, log });
  await look();
  expect(said).toEqual([]);
  for (const code of ['EIO', 'EACCES', 'EIO']) {
    trouble = Object.assign(new Error(`${code}: stat`), { code });
    await look();
  }
  expect(ended).toEqual([]);
  expect(said).toEqual(['warn lock file of the data directory cannot be read']);
  trouble = undefined;
  await look();
  expect(said.at(-1)).toBe('info lock file of the data directory can be read again');
  const lost = new ServiceError('CONFLICT', 'the lock file was removed');
  trouble = lost;
  await look();
  await look();
  expect(ended).toEqual([lost]);
  expect(said.at(-1)).toMatch(/^error the data directory may be in use/);
});
