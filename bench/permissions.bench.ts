import { nodesUrl } from './support/corpus.ts';
import type { GroveServer } from './support/grove-server.ts';
import { probe } from './support/probe.ts';
import type { Question } from './support/question.ts';
import { alternate, medianOf, type Sample } from './support/rounds.ts';
import { progress } from './support/stage.ts';
import { cpu, latency, rate } from './support/table.ts';
import { wrk } from './support/wrk.ts';

const PASSWORD = 'Bench-mark-2026!';
const CONNECTIONS = 8;

/** Logins under way at the same time. */
const LOGINS_AT_ONCE = 8;

/** Nothing of the store is below these paths. */
const elsewhere = Array.from({ length: 50 }, (_, index) => ({
  path: `/elsewhere-${index}/**`,
  operations: ['read', 'update'],
}));

/** The same with conditions, as many as a role may have. */
const manyElsewhere = Array.from({ length: 499 }, (_, index) => ({
  path: `/elsewhere-${index}/**`,
  operations: ['read', 'update'],
  condition: 'node.created_by == auth.user_id',
}));

/** What the measured people may do. */
const roles: readonly { readonly name: string; readonly permissions: readonly object[] }[] = [
  { name: 'reads everything', permissions: [{ path: '**', operations: ['read'] }] },
  {
    name: '50 other paths, and all articles',
    permissions: [...elsewhere, { path: '/f-*/**', operations: ['read'] }],
  },
  {
    name: '499 other paths with conditions, and all articles',
    permissions: [...manyElsewhere, { path: '/f-*/**', operations: ['read'] }],
  },
  {
    name: 'a condition on a column',
    permissions: [{ path: '**', operations: ['read'], condition: "node.created_by == 'admin'" }],
  },
  {
    name: 'a condition on a property',
    permissions: [{ path: '**', operations: ['read'], condition: "node.title != 'x'" }],
  },
  {
    name: 'without one property',
    permissions: [{ path: '**', operations: ['read'], except_fields: ['rank'] }],
  },
];

/**
 * What do permissions cost: a read and a page of 100 children for people with roles, compared with an administrator, who
 * has none? And how many people log in with a password in a second?
 */
export const permissions: Question = {
  name: 'permissions',
  title: 'Permissions, and logins of identities',
  async measure(plan, stage) {
    const { server, articles, idsFile } = await stage.grove(plan.articles);
    await probe(server, `${nodesUrl}/f-0/n-7`, '"name":"n-7"');
    const callers = [{ name: 'an administrator', token: server.token }];
    for (const [index, role] of roles.entries())
      callers.push({ name: role.name, token: await personWith(server, index, role.permissions) });
    const target = { port: server.port, articles, idsFile };
    const rows: string[][] = [];
    for (const script of ['read-path', 'list-page'] as const) {
      progress(`${script} under permissions`);
      for (const { token } of callers) await wrk({ ...target, script, token }, CONNECTIONS, 1);
      const samples = await alternate(
        plan,
        callers.map(({ name, token }) => ({
          name,
          pid: server.pid,
          run: (seconds: number) => wrk({ ...target, script, token }, CONNECTIONS, seconds),
        })),
      );
      const free = medianOf(samples[0] as Sample[], 'cpuUs');
      for (const [index, { name }] of callers.entries()) {
        const ours = samples[index] as Sample[];
        const cost = (100 * (medianOf(ours, 'cpuUs') - free)) / free;
        rows.push([
          script === 'read-path' ? 'one node' : 'a page of 100',
          name,
          rate(ours),
          latency(ours),
          cpu(ours),
          index === 0 ? '' : `${cost.toFixed(1)} %`,
        ]);
      }
    }
    progress('logins');
    const [logins = []] = await alternate(plan, [
      { name: 'logins', pid: server.pid, run: (seconds) => logIn(server, seconds) },
    ]);
    rows.push(['a login', 'a person with a password', rate(logins), latency(logins), cpu(logins), '']);
    return {
      columns: [
        'Request',
        'caller',
        'Grove/s',
        'p50 / p99 ms',
        'server µs of processor',
        'more than the first',
      ],
      rows,
      notes: [
        `Store of ${articles.toLocaleString('en-US')} articles, ${CONNECTIONS} connections. Each person has a node with one role, which is looked up for each request. ${LOGINS_AT_ONCE} people log in at once; a password is compared with argon2id in another thread (19 MiB, two passes), and the session is flushed to disk.`,
      ],
    };
  },
};

function emailOf(index: number): string {
  return `person-${index}@example.org`;
}

/** Registers a person whose node has one role with some permissions. @returns the access token */
async function personWith(server: GroveServer, index: number, allowed: readonly object[]): Promise<string> {
  const access = '/api/repository/bench/main/head/svc:access_control';
  const body = { email: emailOf(index), password: PASSWORD, display_name: `Person ${index}` };
  const registered = (await server.json('POST', '/auth/bench/register', body)) as {
    readonly access_token: string;
    readonly identity: { readonly home: string };
  };
  const id = `bench-${index}`;
  await server.json('POST', `${access}/roles/`, {
    name: id,
    node_type: 'svc:Role',
    properties: { role_id: id, name: id, permissions: allowed },
  });
  await server.json('PATCH', access + registered.identity.home, { properties: { roles: [id] } });
  return registered.access_token;
}

/** Logs people in, again and again, for some seconds. */
async function logIn(server: GroveServer, seconds: number) {
  const began = performance.now();
  const times: number[] = [];
  const one = async (index: number): Promise<void> => {
    const body = { email: emailOf(index % roles.length), password: PASSWORD };
    while (performance.now() - began < seconds * 1000)
      times.push((await server.timed('POST', '/auth/login', body)).ms);
  };
  await Promise.all(Array.from({ length: LOGINS_AT_ONCE }, (_, index) => one(index)));
  times.sort((a, b) => a - b);
  return {
    requests: times.length,
    perSecond: times.length / ((performance.now() - began) / 1000),
    p50Ms: times[Math.floor(times.length / 2)] as number,
    p99Ms: times[Math.floor(times.length * 0.99)] as number,
  };
}
