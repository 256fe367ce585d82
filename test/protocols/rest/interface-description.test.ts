import { describe, expect, it } from 'vitest';
import { operationsOf } from '#protocols/http/openapi/openapi-operations.ts';
import { PathRouter } from '#protocols/http/path-router.ts';
import { contentSchemas } from '#protocols/rest/content-schemas.ts';
import { commandSchemas } from '#protocols/rest/nodes/command-schemas.ts';
import { parseDslQuery } from '#actors/branch/query/dsl-filter.ts';
import { conditionColumns, querySchemas } from '#protocols/rest/nodes/query-schemas.ts';
import { commandNames } from '#protocols/rest/nodes/node-commands.ts';
import { addressesOf, describedOperations, wholeDescription } from '#test/support/api-description.ts';
import { memberRoutes, type RoutesContext } from '#server/routes.ts';

// Only the table is looked at.
const routes = memberRoutes({ version: '1' } as RoutesContext);
const router = new PathRouter(routes);

const document = await wholeDescription();
const operations = describedOperations(document);

describe('the description of the interface', () => {
  it('has every route, by itself or at an address that it shares [HTTP-070]', () => {
    const ids = new Set(operations.map(({ operationId }) => operationId));
    for (const { operationId, docs } of routes) {
      expect(ids.has(docs.address?.operationId ?? operationId), operationId).toBe(true);
    }
    expect(operationsOf(routes)).toHaveLength(operations.length);
  });

  it('has addresses that lead to the route they describe', () => {
    const owners = new Map<string, string>();
    for (const { operationId, docs } of routes) {
      owners.set(operationId, operationId);
      for (const further of docs.further ?? []) owners.set(further.operationId, operationId);
    }
    for (const operation of operations) {
      const { method, operationId } = operation;
      for (const address of addressesOf(operation, () => 'x')) {
        const found = router.match(method, address)?.compiled.route;
        expect(found?.docs.address?.operationId ?? found?.operationId, `${method} ${address}`).toBe(
          owners.get(operationId) ?? operationId,
        );
      }
    }
  });

  it('has every command on a node, with a schema of its body [HTTP-070]', () => {
    const commands = operations.filter(
      ({ tags, method }) => tags.includes('Node commands') && method === 'POST',
    );
    const names = commands.map(({ path }) => path.slice(path.lastIndexOf('/svc:') + '/svc:'.length));
    expect(names.toSorted()).toEqual(commandNames.toSorted());
    const text = JSON.stringify(commands);
    for (const field of [
      'newName',
      'targetPath',
      'movePosition',
      'relationType',
      'translations',
      'operations',
    ])
      expect(text).toContain(`"${field}":`);
    for (const { operationId, body } of commands) {
      expect(body['application/json']?.schema.type, operationId).toBe('object');
    }
  });

  it('declares the plain text of 422 for every route with a body, and YAML for routes that send it [HTTP-071]', () => {
    const withBody = operations.filter(({ body }) => Object.keys(body).length > 0);
    expect(withBody.length).toBeGreaterThan(60);
    for (const { operationId, answers } of withBody) {
      expect(Object.keys(answers['422'] ?? {}), operationId).toContain('text/plain');
    }
    const yaml = operations.filter(({ answers }) => 'text/yaml' in (answers['200'] ?? {}));
    expect(yaml.map(({ operationId }) => operationId)).toEqual(['readNode', 'readNodeAtRevision']);
  });

  it('declares a body for every error', () => {
    for (const { operationId, answers } of operations) {
      for (const [status, content] of Object.entries(answers)) {
        if (status >= '400') expect(Object.keys(content), `${operationId} ${status}`).not.toEqual([]);
      }
    }
  });

  it('declares an idempotency key for every write', () => {
    // Those with a password or a token in the request or the answer, and what no client repeats.
    const alone = [
      'takeSnapshots',
      'logInAdmin',
      'changeAdminPassword',
      'createAdminUser',
      'createApiKey',
      'changeIdentityPassword',
      'changeIdentityPasswordInRepository',
      'logOutIdentity',
      'revokeOwnSession',
      'changeAuthConfiguration',
    ];
    // Repeated, they change nothing, or are refused as the address is taken.
    const ofPeople =
      /^(?:(?:create|link)IdentityUser|inviteToRepository|(?:request|approve|deny|grant|revoke)Access)$/;
    const ofSystem = ['startBackup', 'startRestore', 'stopRestore', 'startCheck', 'stopCheck'];
    const without = operations.filter(
      ({ parameters, method, security }) =>
        method !== 'GET' &&
        security.length === 1 &&
        !parameters.some(({ name }) => name === 'Idempotency-Key'),
    );
    const reads = operations.filter(({ operationId }) => /^(validateAgainst|queryNodes)/.test(operationId));
    const expected = [...alone, ...ofSystem, ...reads.map(({ operationId }) => operationId)];
    for (const { operationId } of without)
      if (!ofPeople.test(operationId)) expect(expected, operationId).toContain(operationId);
  });

  it('has the columns and operators of conditions that are taken', () => {
    for (const column of conditionColumns) parseDslQuery({ [column]: { exists: true } });
    const operators = Object.keys(querySchemas.Comparison?.properties as object);
    const refused = () => parseDslQuery({ name: { resembles: 'x' } });
    expect(refused).toThrow(`use one of ${operators.join(', ')}`);
  });

  it('leaves no schema undescribed, and none that nothing refers to', () => {
    const schemas = { ...contentSchemas, ...commandSchemas, ...querySchemas };
    const text = JSON.stringify(document);
    for (const name of Object.keys(schemas)) expect(text, name).toContain(`#/components/schemas/${name}"`);
  });
});
