import type { Exchange } from '#protocols/http/openapi/openapi-examples.ts';

/** The member's status, login, tenants. */
export const accountExamples: readonly Exchange[] = [
  {
    operation: 'readHealth',
    summary: 'The process lives.',
    status: 200,
    answer: 'ok',
    answerType: 'text/plain',
  },
  {
    operation: 'readReadiness',
    summary: 'A single member, asked on its own machine.',
    status: 200,
    answer: {
      state: 'ready',
      version: '0.1.0',
      mode: 'embedded',
      durability: 'local',
      missing: [],
      stopped_actors: 0,
      rebuilt_partitions: 0,
      revisions_ahead_seconds: 0,
      space: 'enough',
    },
  },
  {
    operation: 'readMetrics',
    summary: 'The beginning of the numbers.',
    status: 200,
    answer: '# HELP svc_http_requests_total Requests answered.\n# TYPE svc_http_requests_total counter\n',
    answerType: 'text/plain',
    isExcerpt: true,
  },
  {
    operation: 'readOpenApi',
    summary: 'The beginning of the description.',
    status: 200,
    answer: {
      openapi: '3.1.0',
      servers: [{ url: '/', description: 'The server that this description was read from.' }],
    },
    isExcerpt: true,
  },
  {
    operation: 'logInAdmin',
    summary: 'The administrator of the first tenant.',
    body: { username: 'admin', password: 'Tour-guide-2026' },
    status: 200,
    answer: {
      token: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZG1pbiJ9.c2lnbmF0dXJl',
      user_id: '01a44700-0000-7000-8000-000000000001',
      username: 'admin',
      must_change_password: false,
      expires_at: 1805123366,
      access_flags: {
        console_login: true,
        cli_access: true,
        api_access: true,
        pgwire_access: false,
        can_impersonate: false,
      },
    },
  },
  {
    operation: 'readOwnProfile',
    summary: 'The account of the token.',
    status: 200,
    answer: {
      user_id: '01a44700-0000-7000-8000-000000000001',
      username: 'admin',
      email: null,
      tenant_id: 'default',
      access_flags: {
        console_login: true,
        cli_access: true,
        api_access: true,
        pgwire_access: false,
        can_impersonate: false,
      },
      must_change_password: false,
    },
  },
  {
    operation: 'createTenant',
    summary: 'A tenant with its first administrator.',
    body: {
      tenant_id: 'acme',
      metadata: { plan: 'trial' },
      admin: { username: 'ada', password: 'First-tenant-2026' },
    },
    status: 201,
    answer: { tenant_id: 'acme', metadata: { plan: 'trial' }, created_at: '2027-03-14T15:09:26.000Z' },
  },
  {
    operation: 'listTenants',
    summary: 'Both tenants.',
    status: 200,
    answer: [
      { tenant_id: 'acme', metadata: { plan: 'trial' }, created_at: '2027-03-14T15:09:26.000Z' },
      { tenant_id: 'default', metadata: {}, created_at: '2027-03-14T15:09:26.000Z' },
    ],
  },
  {
    operation: 'readTenant',
    summary: 'One tenant.',
    parameters: { id: 'acme' },
    status: 200,
    answer: { tenant_id: 'acme', metadata: { plan: 'trial' }, created_at: '2027-03-14T15:09:26.000Z' },
  },
];
