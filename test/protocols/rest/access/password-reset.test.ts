import { describe, expect, it } from 'vitest';
import { type PasswordResetContext, passwordResetRoutes } from '#protocols/rest/access/password-reset.ts';
import type { RestRequest } from '#protocols/rest/rest-route.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

const KEY = 'key';

const context = {
  localAccess: { isKey: (text: string) => text === KEY },
} as unknown as PasswordResetContext;

/** Whether a request is let through to the fields of its body; else the code of the refusal. */
async function answerTo(remoteAddress: string, token: string): Promise<string> {
  const header = (name: string) => (name === 'authorization' ? `Bearer ${token}` : undefined);
  const request = { header, remoteAddress } as unknown as RestRequest;
  const [route] = passwordResetRoutes(context);
  try {
    await route?.permit?.(request);
    return 'permitted';
  } catch (error) {
    return error instanceof ServiceError ? error.code : String(error);
  }
}

describe('resetting a lost password', () => {
  it('is refused from another machine, also with the key', async () => {
    for (const address of ['203.0.113.9', '2001:0db8:0000:0000:0000:0000:0000:0001', ''])
      expect([address, await answerTo(address, KEY)]).toEqual([address, 'FORBIDDEN']);
    expect(await answerTo('127.0.0.1', KEY)).toBe('permitted');
    expect(await answerTo('127.0.0.1', 'other')).toBe('UNAUTHORIZED');
  });
});
