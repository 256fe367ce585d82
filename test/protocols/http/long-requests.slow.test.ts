import { expect, it } from 'vitest';
import { ask, gate, route, start } from './http-fixture.ts';

/** Longer than the library waits for more of a body, ten seconds, and than it takes to notice. */
const HANDLER_MS = 15_000;

it.each([
  ['one piece', 100],
  ['many pieces', 4_000_000],
])('a body in %s with a slow handler is answered, also after a slow authentication', async (_, length) => {
  const known = gate();
  const slow = route(
    'POST',
    '/slow',
    async (request) => {
      await new Promise((resolve) => setTimeout(resolve, HANDLER_MS));
      return { status: 200, json: (request.body as string).length };
    },
    { body: 'json', auth: 'required' },
  );
  const { port } = await start([slow], {
    authenticate: async () => {
      await known.opened;
      return { name: 'ada' };
    },
  });
  const answer = ask(port, '/slow', { body: JSON.stringify('x'.repeat(length)) });
  // The head and the first of the body are there by then.
  await ask(port, '/health');
  known.open();
  expect((await answer).json).toBe(length);
});
