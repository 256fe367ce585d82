import { expect, it } from 'vitest';
import { openClientSecret, sealClientSecret } from '#protocols/identity/oidc/client-secret.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { SecretBox } from '#runtime/config/secret-box.ts';

const box = new SecretBox(systemRandom.bytes(32));

it('opens a client secret for its provider and tenant only', () => {
  const sealed = sealClientSecret(box, 'acme', 'google', 'the secret');
  expect(sealed).not.toContain('secret');
  expect(openClientSecret(box, 'acme', 'google', sealed)).toBe('the secret');
  expect(openClientSecret(box, 'acme', 'other', sealed)).toBeUndefined();
  expect(openClientSecret(box, 'other', 'google', sealed)).toBeUndefined();
  expect(openClientSecret(new SecretBox(systemRandom.bytes(32)), 'acme', 'google', sealed)).toBeUndefined();
});
