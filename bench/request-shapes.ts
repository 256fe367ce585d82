/**
 * Measures the validation of requests: the fields of a body against its description, and the query parameters against
 * the parameters of the route. It also measures the parsing of the same body. Processor time of one thread, without a
 * server.
 *
 * Run: npx node bench/request-shapes.ts [milliseconds]
 */
import { parseQuery } from '#protocols/http/requests/query-parameters.ts';
import { commandShapes, createShape, updateShape } from '#protocols/rest/nodes/node-shapes.ts';
import { readShapeOf } from '#protocols/rest/reads/read-parameters.ts';
import { refusingParameters } from '#protocols/rest/reads/refused-parameters.ts';
import type { RestRequest, RestRoute } from '#protocols/rest/rest-route.ts';
import { memberRoutes, type RoutesContext } from '#server/routes.ts';
import { workedMs } from './support/worked.ts';

const ms = Number(process.argv[2] ?? 500);
/** Rounds; their median is the result. */
const ROUNDS = 7;

const properties = {
  title: 'Gardens in March',
  author: 'Ada',
  words: 1200,
  text: 'Lorem ipsum dolor sit amet. '.repeat(40),
  tags: ['spring', 'gardens', 'soil'],
  hero: { 'svc:ref': '01a44700-0000-7000-8000-000000000007', 'svc:workspace': 'media' },
};
const created = { name: 'gardens', node_type: 'mag:Article', properties, commit: { message: 'Add gardens' } };
const id = '01a44700-0000-7000-8000-000000000007';
const sentBack = {
  ...{ id, name: 'gardens', path: '/spring/gardens', node_type: 'mag:Article', archetype: null, properties },
  ...{ parent: 'spring', order_key: 'a0', has_children: false, workspace: 'content', version: 1 },
  ...{ created_at: '2027-03-14T15:09:26.000Z', updated_at: '2027-03-14T15:09:26.000Z' },
  ...{ created_by: 'admin', updated_by: 'admin', published_at: null, published_by: null },
  ...{ translations: null, owner_id: null, relations: [] },
};
const operations = Array.from({ length: 100 }, (_, index) =>
  index % 2 === 0
    ? { type: 'create', node: { name: `n-${index}`, node_type: 'mag:Article', properties } }
    : { type: 'update', node_id: id, properties },
);
const committed = { message: 'Spring', actor: 'ada', operations };

/** Processor time of one call in microseconds, the median of the rounds. */
function cost(call: () => unknown): number {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const until = performance.now() + ms / ROUNDS;
    const from = workedMs();
    let calls = 0;
    while (performance.now() < until) {
      for (let index = 0; index < 100; index += 1) call();
      calls += 100;
    }
    return ((workedMs() - from) * 1000) / calls;
  });
  return rounds.toSorted((one, other) => one - other)[ROUNDS >> 1] as number;
}

function row(name: string, bytes: number, check: number, beside: number): void {
  const share = `${((100 * check) / beside).toFixed(1)} %`;
  console.log(`| ${name} | ${bytes} | ${check.toFixed(2)} | ${beside.toFixed(2)} | ${share} |`);
}

console.log('| Request | bytes | check, µs | parsing, µs | share |\n|---|---|---|---|---|');
for (const [name, body, shape] of [
  ['create', created, createShape],
  ['update, a node sent back', sentBack, updateShape],
  ['commit of 100 operations', committed, commandShapes.commit],
] as const) {
  const text = JSON.stringify(body);
  const parsed: unknown = JSON.parse(text);
  cost(() => shape?.refuseUnknown(parsed));
  row(
    name,
    text.length,
    cost(() => shape?.refuseUnknown(parsed)),
    cost(() => JSON.parse(text)),
  );
}

const read = memberRoutes({} as RoutesContext).find(
  ({ operationId }) => operationId === 'readNode',
) as RestRoute;
const [guarded] = refusingParameters([{ ...read, handler: () => ({ status: 200 }) }]) as [RestRoute];
for (const queryString of [
  'lang=de',
  'level=2&format=array&lang=de',
  'limit=10&fields=title,author&lang=de',
]) {
  const query = parseQuery(queryString);
  const request = { route: read, queryString, query } as RestRequest;
  const parse = (): unknown => readShapeOf(parseQuery(queryString), false);
  row(
    `\`?${queryString}\``,
    queryString.length,
    cost(() => guarded.handler(request)),
    cost(parse),
  );
}
