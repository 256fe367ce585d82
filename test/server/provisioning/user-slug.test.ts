import { describe, expect, it } from 'vitest';
import { NAME_BYTES_MAX, sanitizeName } from '#runtime/content/path.ts';
import { userSlug, userSlugs } from '#server/provisioning/user-slug.ts';

const identityId = '0190b5c2-0000-7000-8000-000000000000';

describe('the name of the node of a person', () => {
  it.each([
    ['ann@example.org', 'ann-at-example-org'],
    ['Ann.Lee@Example.ORG', 'ann-lee-at-example-org'],
    ['ann+news_2@example.org', 'annnews2-at-example-org'],
    ['ann-lee@example.org', 'ann-lee-at-example-org'],
    ['.a..b.@example.org', 'a-b-at-example-org'],
    ['jörg@exämple.org', 'jrg-at-exmple-org'],
    ['例え@例え', 'at'],
  ])('of %s is %s [ID-004]', (email, slug) => {
    expect(userSlug(email)).toBe(slug);
  });

  it('is a name that nodes may have, with and without what is added', () => {
    for (const email of ['ann@example.org', `${'x'.repeat(200)}@${'y'.repeat(200)}.org`, '--@--', '@'])
      for (const name of userSlugs(userSlug(email), identityId)) {
        expect(sanitizeName(name)).toBe(name);
        expect(name.length).toBeLessThanOrEqual(NAME_BYTES_MAX);
      }
  });

  it('has ever others to try, the last of which nobody else can have', () => {
    const names = [...userSlugs('ann', identityId)];
    expect(names.slice(0, 3)).toEqual(['ann', 'ann-2', 'ann-3']);
    expect(names.at(-1)).toBe(`ann-${identityId}`);
    expect(new Set(names).size).toBe(names.length);
  });
});
