import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { countHashed } from '#actors/branch/reads/translations-info.ts';
import { RequestBudget } from '#runtime/budget/request-budget.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { translationStaleness } from '#runtime/content/translations/translation-staleness.ts';
import {
  administrator,
  type BranchFixture,
  callerWith,
  openBranch,
  WORKSPACE,
} from '#test/support/branch-fixture.ts';

const workspace = WORKSPACE;

describe('what is known of translations', () => {
  let branch: BranchFixture;

  beforeAll(async () => {
    branch = await openBranch();
  });
  afterAll(() => branch.close());

  const place = { path: '/cat' };
  const staleness = (locale: string, caller = administrator) =>
    branch.query({ type: 'ReadStaleness', workspace, place, locale }, caller);

  it('lists locales now and at a revision, and compares an overlay with its source [TRANS-017] [TRANS-018]', async () => {
    const node = await branch.create('/cat', { title: 'cat', description: 'a cat', note: 'x' });
    expect(await branch.query({ type: 'ListTranslations', workspace, place })).toEqual({
      node_id: node.id,
      node_path: '/cat',
      locales: [],
    });
    const translate = (locale: string) =>
      branch.command({
        type: 'TranslateNode',
        workspace,
        place,
        locale,
        translations: { '/title': 'Katze', '/description': 'eine Katze' },
      });
    const { revision } = await translate('de');
    await translate('fr');
    const locales = async (more: object) =>
      ((await branch.query({ type: 'ListTranslations', workspace, place, ...more })) as { locales: unknown })
        .locales;
    expect(await locales({})).toEqual(['de', 'fr']);
    expect(await locales({ at: parseRevision(revision as string) })).toEqual(['de']);
    const properties = { title: 'tomcat', description: 'a cat', note: 'x' };
    await branch.command({ type: 'UpdateNode', workspace, place, properties });
    expect(await staleness('DE')).toEqual({
      stale: [
        {
          pointer: '/title',
          original_hash_at_translation: expect.stringMatching(/^[0-9a-f]{64}$/),
          current_original_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
          translated_at: expect.stringMatching(/Z$/),
        },
      ],
      missing: [{ pointer: '/note', current_original_hash: expect.stringMatching(/^[0-9a-f]{64}$/) }],
      fresh: ['/description'],
      unknown: [],
    });
  });

  it('refuses malformed locales, and hides nodes that may not be read', async () => {
    await expect(staleness('not a locale')).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    const blind = callerWith(() => false);
    await expect(staleness('de', blind)).rejects.toMatchObject({ code: 'NODE_NOT_FOUND' });
    await expect(branch.query({ type: 'ListTranslations', workspace, place }, blind)).rejects.toMatchObject({
      code: 'NODE_NOT_FOUND',
    });
  });
});

it('hashes no more of a node than one request may take', () => {
  const budget = new RequestBudget({ workMax: 600_000, memoryMax: 0 });
  const properties = Object.fromEntries(
    Array.from({ length: 10 }, (_, index) => [`p${index}`, 'x'.repeat(40_000)]),
  );
  const work = translationStaleness(properties, undefined, null, countHashed(budget));
  expect(() => {
    while (work.next().done !== true);
  }).toThrowError(expect.objectContaining({ code: 'REQUEST_TOO_EXPENSIVE' }));
  expect(budget.work).toBeLessThan(1_000_000);
});
