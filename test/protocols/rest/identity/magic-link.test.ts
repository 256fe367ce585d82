import { afterEach, describe, expect, it } from 'vitest';
import { maskedEmail } from '#protocols/identity/magic-links.ts';
import { LANDING, MagicLinksFixture } from '#test/support/magic-links-fixture.ts';
import { linkIn, type MailServerOptions, TestMailServer } from '#test/support/mail-server.ts';
import { until } from '#test/support/until.ts';

const ann = 'ann@example.org';

const cleanups: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A member with the mail server of its operator. */
async function opened(
  options: MailServerOptions = {},
): Promise<{ readonly real: MagicLinksFixture; readonly mail: TestMailServer }> {
  const mail = await TestMailServer.start(options);
  cleanups.push(() => mail.stop());
  const real = await MagicLinksFixture.open(mail.port);
  cleanups.push(() => real.close());
  return { real, mail };
}

describe('a login link', () => {
  it('logs in the person who opens it, once [MAGIC-001, MAGIC-002]', async () => {
    const { mail, real } = await opened();
    const { identity_id: identityId } = await real.register(ann);
    const asked = await real.ask(ann);
    expect(asked).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
    expect(asked.json).toEqual({
      message: 'If the address has an account, a login link is on its way.',
      masked_email: 'an***@example.org',
      expires_in_minutes: 15,
    });
    const received = await mail.received();
    expect(received).toMatchObject({ from: 'login@example.org', to: [ann] });
    const link = linkIn(received);
    expect(link.href).toMatch(
      /^https:\/\/www\.example\.org\/auth\/blog\/magic-link\/verify\?token=[\w-]{43}\.[\w-]+$/,
    );
    const answer = await real.follow(received);
    expect(answer).toMatchObject({
      status: 302,
      headers: { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
    });
    const [place, fragment] = (answer.headers.location ?? '').split('#');
    expect(place).toBe(LANDING);
    expect([...new URLSearchParams(fragment).keys()]).toEqual([
      'access_token',
      'refresh_token',
      'token_type',
      'expires_at',
    ]);
    expect(await real.accessOf(answer)).toMatchObject({
      tenant: 'default',
      identityId,
      email: ann,
      strategy: 'magic_link',
      repository: 'blog',
      home: '/users/internal/ann-at-example-org',
      flags: { email_verified: true },
    });
    const again = await real.follow(received);
    expect(again.status).toBe(401);
    expect(again.json).toMatchObject({ code: 'UNAUTHORIZED' });
    await real.allSent();
    expect(mail.mails).toHaveLength(1);
  });

  it('is used by one of several who open it at once', async () => {
    const { mail, real } = await opened();
    await real.register(ann);
    await real.ask(ann);
    const received = await mail.received();
    const answers = await Promise.all(Array.from({ length: 8 }, () => real.follow(received)));
    expect(answers.map(({ status }) => status).sort()).toEqual([
      302,
      ...Array.from({ length: 7 }, () => 401),
    ]);
  });

  it('is not used by programs that only look at it', async () => {
    const { mail, real } = await opened();
    await real.register(ann);
    await real.ask(ann);
    const received = await mail.received();
    expect((await real.follow(received, 'HEAD')).status).toBe(204);
    for (const headers of [
      { 'sec-purpose': 'prefetch;prerender' },
      { purpose: 'prefetch' },
      { 'x-moz': 'prefetch' },
    ]) {
      const early = await real.follow(received, 'GET', headers);
      expect(early).toMatchObject({ status: 503, headers: { 'cache-control': 'no-store' } });
    }
    expect((await real.follow(received)).status).toBe(302);
  });

  it('ends after 15 minutes, or the minutes of the tenant [MAGIC-003]', async () => {
    const { mail, real } = await opened();
    await real.register(ann);
    await real.ask(ann);
    const first = await mail.received();
    real.clock.advance(15 * 60_000);
    expect((await real.follow(first)).status).toBe(401);
    await real.configure({ magic_link: { enabled: true, token_ttl_minutes: 2 } });
    const asked = await real.ask(ann);
    expect(asked.json).toMatchObject({ expires_in_minutes: 2 });
    const second = await mail.received(2);
    real.clock.advance(2 * 60_000 - 1);
    expect((await real.follow(second)).status).toBe(302);
    await real.ask(ann);
    const third = await mail.received(3);
    real.clock.advance(2 * 60_000);
    expect((await real.follow(third)).status).toBe(401);
  });

  it('is good for what it was asked for only: its repository, or the tenant', async () => {
    const { mail, real } = await opened();
    await real.register(ann);
    await real.ask(ann);
    const scoped = linkIn(await mail.received());
    await real.ask(ann, {}, '/auth/magic-link');
    const unscoped = linkIn(await mail.received(2));
    expect(unscoped.pathname).toBe('/auth/magic-link/verify');
    for (const path of [
      `/auth/magic-link/verify${scoped.search}`,
      `/auth/other/magic-link/verify${scoped.search}`,
      `/auth/blog/magic-link/verify${unscoped.search}`,
    ])
      expect((await real.request('GET', path)).status).toBe(401);
    const answer = await real.request('GET', unscoped.pathname + unscoped.search);
    expect(answer.status).toBe(302);
    const access = await real.accessOf(answer);
    expect([access.repository, access.home]).toEqual([undefined, undefined]);
    expect((await real.request('GET', scoped.pathname + scoped.search)).status).toBe(302);
  });

  it('belongs to its tenant, without a header', async () => {
    const { mail, real } = await opened();
    await real.register(ann);
    const { identity_id: identityId } = await real.register(ann, 'acme');
    await real.ask(ann, {}, '/auth/blog/magic-link', 'acme');
    const received = await mail.received();
    const secret = linkIn(received).searchParams.get('token')?.split('.')[0] ?? '';
    const elsewhere = `${secret}.${Buffer.from('default').toString('base64url')}`;
    expect((await real.request('GET', `/auth/blog/magic-link/verify?token=${elsewhere}`)).status).toBe(401);
    expect(await real.accessOf(await real.follow(received))).toMatchObject({ tenant: 'acme', identityId });
  });

  it('is refused in any other form', async () => {
    const { real } = await opened();
    await real.register(ann);
    for (const token of ['x', `${'A'.repeat(43)}.ZGVmYXVsdA`, `${'A'.repeat(43)}.bm9uZQ`, 'A'.repeat(5_000)])
      expect((await real.request('GET', `/auth/blog/magic-link/verify?token=${token}`)).status).toBe(401);
    for (const query of ['', '?token=', '?other=x'])
      expect((await real.request('GET', `/auth/blog/magic-link/verify${query}`)).status).toBe(400);
  });

  it('lets nobody in whose account was deactivated meanwhile, or while links are switched off', async () => {
    const { mail, real } = await opened();
    const { identity_id: identityId } = await real.register(ann);
    await real.ask(ann);
    const received = await mail.received();
    const setActive = (isActive: boolean) =>
      real.send('default', { type: 'UpdateIdentity', identityId, changes: { is_active: isActive } });
    await setActive(false);
    const refused = await real.follow(received);
    expect([refused.status, refused.json.code]).toEqual([403, 'ACCOUNT_DISABLED']);
    await setActive(true);
    await real.configure({ magic_link: { enabled: false, token_ttl_minutes: 15 } });
    expect((await real.follow(received)).status).toBe(403);
    await real.configure({ magic_link: { enabled: true, token_ttl_minutes: 15 } });
    expect((await real.follow(received)).status).toBe(302);
  });

  it('ends what somebody has set up with the address of the person before', async () => {
    const { mail, real } = await opened();
    const stranger = await real.logInStranger(ann);
    expect(await stranger.refresh()).toMatchObject({ isRefreshed: true });
    await real.ask(ann);
    expect((await real.follow(await mail.received())).status).toBe(302);
    expect(await stranger.refresh()).toEqual({ isRefreshed: false, code: 'SESSION_REVOKED' });
  });
});

describe('a request for a login link', () => {
  it('is answered alike for an address without an account, which gets no mail [MAGIC-001]', async () => {
    const { mail, real } = await opened();
    await real.register(ann);
    const { identity_id: gone } = await real.register('ben@example.org');
    await real.send('default', { type: 'UpdateIdentity', identityId: gone, changes: { is_active: false } });
    const [known, unknown, inactive] = await Promise.all(
      [ann, 'cat@example.org', 'ben@example.org'].map((email) => real.ask(email)),
    );
    for (const other of [unknown, inactive]) {
      expect({ ...other?.json, masked_email: '' }).toEqual({ ...known?.json, masked_email: '' });
      expect(other?.status).toBe(200);
      expect(Object.keys(other?.headers ?? {})).toEqual(Object.keys(known?.headers ?? {}));
    }
    await real.allSent();
    expect(mail.mails.map(({ to }) => to)).toEqual([[ann]]);
  });

  it('is answered alike, as often as it is repeated, in tenants without people and in tenants that do not exist', async () => {
    const { mail, real } = await opened();
    await real.register('ben@example.org', 'acme');
    const told = async (client: number, email: string, tenant: string): Promise<unknown> => {
      const { headers, json, status } = await real.askFrom(client, email, tenant);
      const { date: _, 'x-request-id': __, ...shown } = headers as Record<string, unknown>;
      return { status, headers: shown, json: { ...json, timestamp: '', request_id: '' } };
    };
    const series = async (tenant: string): Promise<unknown[]> => {
      const answers: unknown[] = [];
      for (let client = 0; client < 7; client += 1) answers.push(await told(client, ann, tenant));
      for (let index = 0; index < 22; index += 1)
        answers.push(await told(99, `a${index}@example.org`, tenant));
      return answers;
    };
    const known = await series('acme');
    expect([known[4], known[5], known[26], known[27]]).toMatchObject(
      [200, 429, 200, 429].map((status) => ({ status })),
    );
    // Nobody has registered in the first of these, and there is no second one.
    for (const tenant of ['default', 'nowhere']) expect(await series(tenant)).toEqual(known);
    await real.allSent('acme');
    expect(real.waiting()).toEqual([]);
    expect(mail.mails).toEqual([]);
  });

  it('is answered alike for a repository that does not exist, and no mail is sent', async () => {
    const { mail, real } = await opened();
    await real.register(ann);
    const [there, none] = [await real.ask(ann), await real.ask(ann, {}, '/auth/nothing/magic-link')];
    expect(none?.json).toEqual(there?.json);
    await real.allSent();
    expect(mail.mails).toHaveLength(1);
    expect(linkIn(mail.mails[0] as (typeof mail.mails)[number]).pathname).toBe(
      '/auth/blog/magic-link/verify',
    );
  });

  it('does not wait for the mail server', async () => {
    const { mail, real } = await opened();
    await real.register(ann);
    let goOn: (() => void) | undefined;
    mail.pause = () =>
      new Promise((resolve) => {
        goOn = resolve;
      });
    expect((await real.ask(ann)).status).toBe(200);
    expect(mail.mails).toEqual([]);
    expect(real.waiting()).toHaveLength(1);
    await until(() => goOn !== undefined, 'the mail server has the mail');
    goOn?.();
    await real.allSent();
    expect(mail.mails).toHaveLength(1);
  });

  it('is refused with 503 where no mail can be sent [MAGIC-001]', async () => {
    const real = await MagicLinksFixture.open({});
    cleanups.push(() => real.close());
    await real.register(ann);
    for (const path of ['/auth/magic-link', '/auth/blog/magic-link'])
      for (const email of [ann, 'nobody@example.org']) {
        const refused = await real.ask(email, {}, path);
        expect([refused.status, refused.json.code]).toEqual([503, 'EMAIL_NOT_CONFIGURED']);
      }
  });

  it('is refused while links are switched off, and for what is no address', async () => {
    const { real } = await opened();
    for (const email of [
      'ann',
      '',
      'ann@example.org\r\nBcc: eve@example.org',
      '<ann@example.org>',
      'a@b, c@d',
    ]) {
      const refused = await real.ask(email);
      expect([refused.status, refused.json.code]).toEqual([400, 'INVALID_EMAIL']);
    }
    for (const body of [{}, { email: 7 }, { email: ann, redirect_url: 7 }])
      expect((await real.request('POST', '/auth/magic-link', { body })).status).toBe(422);
    await real.configure({ magic_link: { enabled: false, token_ttl_minutes: 15 } });
    expect((await real.ask(ann)).status).toBe(403);
  });

  it('may say where the person lands, within the configured addresses [MAGIC-005]', async () => {
    const { mail, real } = await opened();
    await real.register(ann);
    const wanted = `${LANDING}/inbox?tab=2`;
    expect((await real.ask(ann, { redirect_url: wanted })).status).toBe(200);
    const answer = await real.follow(await mail.received());
    expect(answer.headers.location?.split('#')[0]).toBe(wanted);
    for (const redirect of [
      'https://evil.example/app',
      'https://www.example.org/application',
      'https://www.example.org/app/../admin',
      'https://www.example.org/app/%2e%2e/admin',
      'https://user@www.example.org/app',
      'https://www.example.org\\@evil.example/app',
      '//evil.example',
      '/\\evil.example',
      '/app',
      'javascript:alert(1)',
      `${LANDING}#access_token=mine`,
      '',
    ]) {
      const refused = await real.ask(ann, { redirect_url: redirect });
      expect([refused.status, refused.json.field], redirect).toEqual([400, 'redirect_url']);
    }
    await real.allSent();
    expect(mail.mails).toHaveLength(1);
  });

  it('never makes a link that follows the Host of the request', async () => {
    const { mail, real } = await opened();
    await real.register(ann);
    await real.request('POST', '/auth/magic-link', {
      body: { email: ann },
      headers: { host: 'evil.example', 'x-forwarded-host': 'evil.example', origin: 'https://evil.example' },
    });
    expect(linkIn(await mail.received()).origin).toBe('https://www.example.org');
  });

  it('is refused after five for an address, and says when to come back [MAGIC-004]', async () => {
    const { mail, real } = await opened();
    await real.register(ann);
    for (const email of [ann, 'nobody@example.org']) {
      for (let request = 0; request < 5; request += 1) {
        const headers = { 'x-forwarded-for': `192.0.2.${request}` };
        const body = { email };
        expect((await real.request('POST', '/auth/magic-link', { body, headers })).status).toBe(200);
      }
      const refused = await real.ask(email);
      expect([refused.status, refused.json.code]).toEqual([429, 'RATE_LIMITED']);
      expect(refused.headers['retry-after']).toBe('900');
    }
    await real.allSent();
    expect(mail.mails).toHaveLength(5);
  });

  it('is refused after twenty from a client [MAGIC-004]', async () => {
    const { real } = await opened();
    const ask = (index: number, client: string) =>
      real.request('POST', '/auth/magic-link', {
        body: { email: `a${index}@example.org` },
        headers: { 'x-forwarded-for': client },
      });
    for (let request = 0; request < 20; request += 1)
      // One network of IPv6 is one client.
      expect((await ask(request, `2001:db8:1:2::${request.toString(16)}`)).status).toBe(200);
    const refused = await ask(20, '2001:db8:1:2:ffff::1');
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '3600']);
    expect((await ask(20, '2001:db8:1:3::1')).status).toBe(200);
  });

  it('writes neither addresses nor links into the log', async () => {
    const { mail, real } = await opened();
    await real.register(ann);
    mail.refusal = () => 550;
    await real.ask(ann);
    await real.allSent();
    const text = JSON.stringify(real.logLines);
    expect(text).toContain('a login link is not sent');
    expect(text).not.toMatch(/ann@|verify\?token|[\w-]{43}\./);
  });
});

describe('an address that is shown', () => {
  it('has two characters, or one when it is short', () => {
    expect(maskedEmail('ann@example.org')).toBe('an***@example.org');
    expect(maskedEmail('an@example.org')).toBe('a***@example.org');
    expect(maskedEmail('a@example.org')).toBe('a***@example.org');
    expect(maskedEmail('😀😀😀@example.org')).toBe('😀😀***@example.org');
  });
});
