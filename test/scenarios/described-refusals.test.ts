import { afterAll, beforeAll, expect, it } from 'vitest';
import type { OpenApiDocument } from '#protocols/http/openapi/openapi.ts';
import { addressesOf, describedOperations } from '#test/support/api-description.ts';
import { ContentClient } from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let values: Readonly<Record<string, string>>;

beforeAll(async () => {
  server = await startServer();
  const client = await ContentClient.on(server);
  const space = await client.workspace();
  await space.add('/', 'there', {});
  values = {
    tenant: 'default',
    repo: client.repository,
    branch: 'main',
    workspace: space.name,
    path: 'there',
    name: 'svc:Folder',
    revision: await client.headRevision(),
  };
});

afterAll(() => server.close());

it('answers a body that is no object with a status and a content type that are described [HTTP-071]', async () => {
  const document = (await server.request('GET', '/openapi.json')).json as OpenApiDocument;
  const texts: string[] = [];
  for (const operation of describedOperations(document)) {
    const { answers, body, method, operationId } = operation;
    if (Object.keys(body).length === 0) continue;
    for (const address of addressesOf(operation, (name) => values[name] ?? 'x')) {
      const { headers, status, text } = await server.admin(method, address, 7);
      const type = headers['content-type']?.split(';')[0] ?? '';
      expect(Object.keys(answers[status] ?? {}), `${operationId} ${status} ${text}`).toContain(type);
      if (status === 422 && type === 'text/plain') texts.push(operationId);
    }
  }
  // Others say before that the caller may not do it, or that there is no such thing.
  expect(texts.length).toBeGreaterThan(60);
});
