import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectStatus } from '#test/support/content-client.ts';
import { Garden } from '#test/support/garden.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { presentPart, workloadCount } from '#test/support/workload-count.ts';
import { arbitraryParameters, arbitraryText } from './random-texts.ts';

const SEED = 20_261_127 + presentPart();
const TEXTS = workloadCount(800);

/** Texts for one garden: after them little of it is left. */
const TEXTS_OF_GARDEN = 150;

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});

afterAll(() => server.close());

async function newGarden(): Promise<Garden> {
  const garden = await Garden.on(server);
  await garden.client.branch('dev', { upstream_branch: 'main' });
  const revision = await garden.client.headRevision();
  expectStatus(await garden.client.managed('POST', '/tags', { name: 'v1', revision }), 200, 201);
  return garden;
}

test('statements of chance are answered, or refused with what is wrong with them', async () => {
  const statuses = new Map<number, number>();
  let tried = 0;
  let garden = await newGarden();
  await fc.assert(
    fc.asyncProperty(arbitraryText, arbitraryParameters, fc.boolean(), async (sql, params, isOnDev) => {
      tried += 1;
      if (tried % TEXTS_OF_GARDEN === 0) garden = await newGarden();
      const answer = await garden.ask(sql, { params, ...(isOnDev ? { branch: 'dev' } : {}) });
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      expect(answer.status >= 500 ? answer.text : '').toBe('');
      if (answer.status >= 400) return;
      const { columns, row_count: count, rows } = answer.json;
      expect([rows.length, rows.every((row: object) => Object.keys(row).length === columns.length)]).toEqual([
        count,
        true,
      ]);
    }),
    { seed: SEED, numRuns: TEXTS },
  );
  // Of texts that all fail, little could be learned. About a fifth is answered; of the few that a cluster tries it may be less.
  expect(statuses.get(200) ?? 0).toBeGreaterThan(TEXTS / 20);
  expect(await garden.column('SELECT 1 AS a')).toEqual([1]);
});
