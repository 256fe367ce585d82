import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OpenApiDocument } from '#protocols/http/openapi/openapi.ts';
import type { Exchange, NamedExamples } from '#protocols/http/openapi/openapi-examples.ts';
import { exampleParameters, interfaceExamples } from '#protocols/rest/examples/interface-examples.ts';
import { commandNames } from '#protocols/rest/nodes/node-commands.ts';
import { type DescribedOperation, describedOperations } from '#test/support/api-description.ts';
import { ExampleValues } from '#test/support/example-values.ts';
import type { TestResponse } from '#test/support/http-client.ts';
import { lintDescription } from '#test/support/redocly.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/until.ts';

/** Not sent, with the reason. */
const unsent: ReadonlyMap<string, string> = new Map([
  ['takeSnapshots', 'a single member has no snapshots'],
  ['startOidcLogin', 'the provider of the examples does not exist'],
  ['finishOidcLogin', 'nobody can log in at a provider that does not exist'],
  ['cancelJob cancelled', 'a job of so little data is over before it can be cancelled'],
]);

function isUnsent({ name, operation }: Exchange): boolean {
  return unsent.has(operation) || unsent.has(`${operation} ${name}`);
}

/** Work that goes on when its answer has left: asked for until it is done. */
const slow: ReadonlySet<string> = new Set([
  'listJobs',
  'readBackup',
  'readCheck',
  'readRestore',
  'readStatistics',
]);

/** Of one machine: what its members and its version are called. */
const ownNames: Readonly<Record<string, RegExp>> = {
  readCluster: /"(?:vm|[\w.-]+):\d+"|"http:\/\/127\.0\.0\.1:\d+"/g,
};

let server: TestServer;
let backups: string;
let document: OpenApiDocument;
let operations: ReadonlyMap<string, DescribedOperation>;
let token: string | undefined;
/** Tokens of the identity that has logged in last. */
let identity: { readonly access_token: string; readonly refresh_token: string } | undefined;
const values = new ExampleValues();
/** The examples, with what this server answered. */
const told: { readonly exchange: Exchange; readonly answer: unknown }[] = [];

/** The password that the examples log in with. */
function password(): string {
  const login = interfaceExamples.find(({ operation }) => operation === 'logInAdmin') as Exchange;
  return (login.body as { readonly password: string }).password;
}

beforeAll(async () => {
  backups = mkdtempSync(join(tmpdir(), 'grove-examples-'));
  server = await startServer({
    env: {
      SVC_ADMIN_PASSWORD: password(),
      SVC_BACKUP_DIR: backups,
      // Nothing is sent: nobody has an account.
      SVC_SMTP_URL: 'smtp://127.0.0.1:25?security=none',
      SVC_EMAIL_FROM: 'login@example.org',
      SVC_EMAIL_BASE_URL: 'https://www.example.org/app',
    },
  });
  document = (await server.request('GET', '/openapi.json')).json as OpenApiDocument;
  operations = new Map(describedOperations(document).map((one) => [one.operationId, one]));
});

afterAll(async () => {
  await server.close();
  rmSync(backups, { recursive: true, force: true });
});

function operationOf({ operation }: Exchange): DescribedOperation {
  const found = operations.get(operation);
  if (found === undefined) throw new Error(`${operation} is not described`);
  return found;
}

/** The address of an exchange, with what stands for its ids and revisions here. */
function addressOf(exchange: Exchange): string {
  const { parameters, path } = operationOf(exchange);
  const own = values.here({ ...exchangeParameters(exchange) });
  const query = new URLSearchParams();
  let address = path;
  for (const { in: place, name } of parameters) {
    const value = own[name];
    if (value === undefined || place === 'header') continue;
    // The slashes of the path of a node stay as they are.
    const text = name === 'path' ? String(value) : encodeURIComponent(value);
    if (place === 'path') address = address.replace(`{${name}}`, text);
    else query.set(name, String(value));
  }
  return query.size === 0 ? address : `${address}?${query.toString()}`;
}

function exchangeParameters(exchange: Exchange) {
  const { parameters } = operationOf(exchange);
  const own = { ...exchange.parameters };
  for (const { in: place, name } of parameters) {
    const value = exampleParameters[name];
    if (place === 'path' && value !== undefined) own[name] ??= value;
  }
  return own;
}

/** What the identity that has logged in last does. */
const ofIdentity: ReadonlySet<string> = new Set([
  'changeIdentityPassword',
  'changeIdentityPasswordInRepository',
  'listOwnSessions',
  'logOutIdentity',
  'readOwnIdentity',
  'readOwnIdentityInRepository',
  'requestAccess',
  'revokeOwnSession',
]);

function keyFor(operation: string): string | undefined {
  if (operation === 'resetAdminPassword')
    return readFileSync(join(server.dataDir, 'local-access'), 'utf8').trim();
  return ofIdentity.has(operation) ? identity?.access_token : token;
}

/** The body, with the refresh token that is to be exchanged now. */
function bodyOf({ body, operation }: Exchange): unknown {
  return operation.startsWith('refreshSession')
    ? { ...(body as object), refresh_token: identity?.refresh_token }
    : values.here(body);
}

function send(exchange: Exchange): Promise<TestResponse> {
  const key = keyFor(exchange.operation);
  const body = exchange.body === undefined ? {} : { body: bodyOf(exchange) };
  return server.request(operationOf(exchange).method, addressOf(exchange), {
    ...(key === undefined ? {} : { token: key }),
    ...body,
  });
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function answerOf(response: TestResponse): unknown {
  if (response.text === '') return undefined;
  const isJson = response.headers['content-type']?.startsWith('application/json') === true;
  return isJson ? (response.json as unknown) : response.text;
}

/** Where an answer is another one than its example says. */
function differences(exchange: Exchange, response: TestResponse): readonly string[] {
  const { answer: example, answerType = 'application/json', isExcerpt = false, operation, status } = exchange;
  if (response.status !== status) return [`status ${response.status}: ${response.text}`];
  const answer = answerOf(response);
  if (example === undefined) return answer === undefined ? [] : [`answers ${response.text}`];
  const type = response.headers['content-type']?.split(';')[0];
  if (type !== answerType) return [`content type ${type}`];
  const names = ownNames[operation];
  if (names === undefined) return values.differences(example, answer, isExcerpt);
  const named = (value: unknown): unknown => JSON.parse(JSON.stringify(value).replaceAll(names, '"named"'));
  return values.differences(named(example), named(answer), isExcerpt);
}

async function exchange(one: Exchange): Promise<void> {
  let response = await send(one);
  let found = differences(one, response);
  if (slow.has(one.operation)) {
    await until(
      async () => {
        response = await send(one);
        found = differences(one, response);
        return found.length === 0;
      },
      `${one.operation}: ${found.join('; ')}`,
    );
  }
  expect(found, `${one.operation} ${one.name ?? ''}`).toEqual([]);
  const answer = answerOf(response);
  told.push({ exchange: one, answer });
  if (one.operation === 'logInAdmin') token = (answer as { readonly token: string }).token;
  if (isObject(answer) && 'refresh_token' in answer) identity = answer as typeof identity;
}

describe('the examples of the description', () => {
  it('are there for every operation, of its body and of each answer that is no refusal [HTTP-080]', () => {
    for (const { answers, body, operationId, parameters } of operations.values()) {
      for (const content of Object.values(body)) {
        expect(content.examples, `body of ${operationId}`).toBeDefined();
      }
      for (const [status, contents] of Object.entries(answers)) {
        if (!status.startsWith('2')) continue;
        for (const [type, content] of Object.entries(contents))
          expect.soft(content.examples, `${status} of ${operationId} as ${type}`).toBeDefined();
      }
      for (const parameter of parameters) {
        if (parameter.in !== 'path') continue;
        expect(parameter.examples, `${parameter.name} of ${operationId}`).toBeDefined();
      }
    }
  });

  it('are answered as documented by a new server, each command on a node among them [HTTP-081]', async () => {
    for (const one of interfaceExamples) {
      if (!isUnsent(one)) await exchange(one);
    }
    const sent = told.map((one) => operationOf(one.exchange)).filter(({ method }) => method === 'POST');
    for (const name of commandNames) {
      expect(
        sent.some(({ path }) => path.endsWith(`/svc:${name}`)),
        name,
      ).toBe(true);
    }
  });

  it('leave nothing out of the schemas that a server answers [HTTP-081]', async () => {
    const answered = structuredClone(document);
    const byOperation = new Map(
      Object.values(answered.paths).flatMap((methods) =>
        Object.values(methods).map((one) => [one.operationId, one] as const),
      ),
    );
    for (const { answer, exchange: one } of told) {
      const { answerType = 'application/json', name = 'example', operation, status } = one;
      const response = byOperation.get(operation)?.responses[status] as {
        readonly content?: Readonly<Record<string, { examples: Record<string, NamedExamples[string]> }>>;
      };
      const content = response.content?.[answerType];
      if (answer !== undefined && content !== undefined) content.examples[name] = { value: answer };
    }
    expect(told.length).toBeGreaterThan(interfaceExamples.length - unsent.size - 1);
    expect(await lintDescription(answered)).toEqual([]);
  });
});
