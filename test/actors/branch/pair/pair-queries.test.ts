import { afterAll, beforeAll, expect, it } from 'vitest';
import type { EngineQuery } from '#actors/branch/pair-messages.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';
import { callers } from '#test/support/host-fixture.ts';

/** One of each, so that a new one does not compile without. */
type Queries = { readonly [Type in EngineQuery['type']]: Omit<Extract<EngineQuery, { type: Type }>, 'type'> };

let family: BranchFamily;
let queries: Queries;

beforeAll(async () => {
  family = await BranchFamily.open();
  const revision = await family.create('main', '/a', 'a', 'a');
  queries = {
    ReadGraph: { revision },
    ReadChanged: { revisions: [revision], from: { revision: 0, part: 0 } },
    ReadRecordPart: { revision, part: 0 },
    ReadStates: { at: revision, nodes: [{ workspace: WORKSPACE, id: 'a' }] },
    ReadDefinitionStates: { at: revision, definitions: [{ kind: 'node_type', name: 'svc:Page' }] },
    ReadUniqueHolder: { workspace: WORKSPACE, nodeType: 'svc:Page', property: 'a', value: 'b' },
    ReadEventsAfter: {},
  };
});
afterAll(() => family.close());

it('queries of the engine, which answer whatever a user may read, are refused to administrators', async () => {
  for (const [type, fields] of Object.entries(queries)) {
    const query = { type, ...fields } as EngineQuery;
    const refused = family.query('main', query, callers.admin);
    await expect(refused, type).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await family.query('main', query, callers.engine);
  }
});
