import { afterAll, beforeAll, expect, it } from 'vitest';
import { pageExamples } from '#test/support/page-examples.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

it('the page on statements that write rows shows what a server answers to its commands, in order', async () => {
  const examples = await pageExamples(server, 'docs/interface/sql-writes.md');
  expect(examples.length).toBeGreaterThan(3);
  for (const { commands, printed, shown } of examples)
    for (const [index, value] of shown.entries()) expect(printed[index], commands).toMatchObject(value);
});
