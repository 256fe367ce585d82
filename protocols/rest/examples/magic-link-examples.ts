import type { Exchange } from '#protocols/http/openapi/openapi-examples.ts';

const asked = {
  message: 'If the address has an account, a login link is on its way.',
  masked_email: 'an***@example.org',
  expires_in_minutes: 15,
};

const useless = {
  code: 'UNAUTHORIZED',
  message: 'The link is not valid; it may have been used, or have expired',
  timestamp: '2027-03-14T15:09:26.000Z',
};

const token = `${'A'.repeat(43)}.ZGVmYXVsdA`;

/** Login links, on a server that can send mail. */
export const magicLinkExamples: readonly Exchange[] = [
  {
    operation: 'requestMagicLink',
    summary: 'A link for a login to the tenant.',
    body: { email: 'ann@example.org' },
    status: 200,
    answer: asked,
  },
  {
    operation: 'requestRepositoryMagicLink',
    summary: 'A link for a login to a repository, which leads to a page of the product.',
    body: { email: 'ann@example.org', redirect_url: 'https://www.example.org/app/inbox' },
    status: 200,
    answer: asked,
  },
  {
    operation: 'openMagicLink',
    summary: 'A link that was used before.',
    parameters: { token },
    status: 401,
    answer: useless,
  },
  {
    operation: 'openRepositoryMagicLink',
    summary: 'A link that was used before.',
    parameters: { token },
    status: 401,
    answer: useless,
  },
];
