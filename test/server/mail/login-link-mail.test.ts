import { describe, expect, it } from 'vitest';
import type { MailServer } from '#protocols/identity/email-setups.ts';
import { type LoginLink, loginLinkMail } from '#server/mail/login-link-mail.ts';
import { linkIn, plainText } from '#test/support/mail-server.ts';

const server: MailServer = {
  host: 'mail.example.org',
  port: 465,
  security: 'tls',
  account: undefined,
  from: { name: 'Grüße, "Example"', address: 'login@example.org' },
  replyTo: undefined,
  isOperators: false,
};

const link: LoginLink = {
  to: 'ann@example.org',
  link: `https://www.example.org/auth/blog/magic-link/verify?token=${'A'.repeat(43)}.ZGVmYXVsdA`,
  site: 'www.example.org',
  minutes: 15,
  nowMs: Date.UTC(2026, 10, 27, 8, 0, 0),
  id: '0190-id',
};

async function composed(
  more: Partial<LoginLink> = {},
  from: Partial<MailServer> = {},
): Promise<{ readonly head: readonly string[]; readonly raw: string }> {
  const { envelope, message } = await loginLinkMail({ ...server, ...from }, { ...link, ...more });
  const raw = Buffer.from(message).toString();
  expect(envelope).toMatchObject({ from: 'login@example.org', size: message.length });
  const [head = ''] = raw.split('\r\n\r\n', 1);
  return { head: head.replaceAll(/\r\n[ \t]/g, ' ').split('\r\n'), raw };
}

describe('a mail with a login link', () => {
  it('has the link as text and as HTML, and says how long it is good', async () => {
    const { head, raw } = await composed();
    expect(linkIn({ raw }).href).toBe(link.link);
    const text = plainText(raw);
    expect(text).toContain(`<a href="${link.link}">${link.link}</a>`);
    expect(text.match(/Open it within 15 minutes to log in\. It works once\./g)).toHaveLength(2);
    expect(head).toContain('To: ann@example.org');
    expect(head).toContain('Subject: Log in to www.example.org');
    expect(head).toContain('Date: Fri, 27 Nov 2026 08:00:00 +0000');
    expect(head).toContain('Message-ID: <0190-id@example.org>');
    expect(head).toContain('Auto-Submitted: auto-generated');
    expect(head.find((line) => line.startsWith('From: '))).toMatch(
      /^From: =\?UTF-8\?.*\?= <login@example\.org>$/,
    );
    expect(text).not.toMatch(/attachment/i);
    expect(plainText((await composed({ minutes: 1 })).raw)).toContain('within 1 minute to');
  });

  it('has an address for answers when there is one', async () => {
    const { head } = await composed({}, { replyTo: { name: 'Help', address: 'help@example.org' } });
    expect(head).toContain('Reply-To: Help <help@example.org>');
    expect((await composed()).head.join()).not.toMatch(/reply-to/i);
  });

  it('goes to one receiver, whatever characters the address has', async () => {
    for (const [to, routable = to] of [
      ["o'neil+x@example.org"],
      ['änn@exämple.org', 'änn@xn--exmple-cua.org'],
      ['ann@EXAMPLE.org', 'ann@example.org'],
      ['a=?utf-8?q?b?=@example.org'],
      ['a%0d%0ab@example.org'],
      ['a@under_score.example.org'],
      ['a@%00.example.org'],
    ] as readonly (readonly [string, string?])[]) {
      const { envelope, message } = await loginLinkMail(server, { ...link, to });
      expect(envelope.to).toEqual([routable]);
      const [head = ''] = Buffer.from(message).toString().split('\r\n\r\n', 1);
      const names = head
        .replaceAll(/\r\n[ \t]/g, ' ')
        .split('\r\n')
        .map((line) => line.split(':', 1)[0]);
      expect(names.filter((name) => name === 'To')).toHaveLength(1);
      expect(names).not.toContain('Bcc');
    }
  });

  it('takes what comes from outside as text, in headers and in HTML', async () => {
    const { head, raw } = await composed({
      site: 'x"><img src=y>\r\nBcc: eve@example.org',
      link: 'https://www.example.org/?a="><script>&b',
    });
    expect(head.map((line) => line.split(':', 1)[0])).not.toContain('Bcc');
    const html = plainText(raw).split('<!DOCTYPE html>')[1] as string;
    expect(html).toContain('<a href="https://www.example.org/?a=&quot;&gt;&lt;script&gt;&amp;b">');
    expect(html).not.toMatch(/<img|<script/);
  });
});
