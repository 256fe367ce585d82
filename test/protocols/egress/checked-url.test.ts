import { describe, expect, it } from 'vitest';
import type { EgressAllowance } from '#protocols/egress/allowance.ts';
import { checkedUrl } from '#protocols/egress/checked-url.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { open, strict } from './egress-fixture.ts';

function refusal(url: string, allowance: EgressAllowance = strict): ServiceError {
  try {
    checkedUrl(url, allowance);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'EGRESS_REFUSED') return error;
    throw error;
  }
  throw new Error(`${url} is allowed`);
}

describe('a URL for requests', () => {
  it('is accepted however often one was looked at before', () => {
    for (let count = 0; count < 50_000; count += 1)
      expect(checkedUrl('https://b\u00fccher.example.com/', strict).port).toBe(443);
  });

  it.each([
    ['https://Example.COM./a?b#c', 'https://example.com/a?b', 'example.com', 443],
    ['https://bücher.example.com/', 'https://xn--bcher-kva.example.com/', 'xn--bcher-kva.example.com', 443],
    ['https://ex%61mple.com:8443/', 'https://example.com:8443/', 'example.com', 8443],
    ['https:\\\\example.com\\x', 'https://example.com/x', 'example.com', 443],
    ['https://example.com:80/', 'https://example.com:80/', 'example.com', 80],
    ['https://a_b.example.com/', 'https://a_b.example.com/', 'a_b.example.com', 443],
    ['https://0x08.8.010.8/', 'https://8.8.8.8/', '8.8.8.8', 443],
    ['https://[2606:4700:0::1111]/', 'https://[2606:4700::1111]/', '2606:4700::1111', 443],
    ['https://localhost.example.com/', 'https://localhost.example.com/', 'localhost.example.com', 443],
  ])('is normalised: %s', (text, href, host, port) => {
    const checked = checkedUrl(text, strict);
    expect([checked.url.href, checked.host, checked.port]).toEqual([href, host, port]);
  });

  it.each([
    ['not a url', 'url'],
    ['//example.com/', 'url'],
    ['https://', 'url'],
    [`https://example.com/${'a'.repeat(9000)}`, 'url'],
    ['https://exa mple.com/', 'url'],
    ['https://[fe80::1%25eth0]/', 'url'],
    ['https://[::1%eth0]/', 'url'],
    ['https://1.2.3.4.5/', 'url'],
    ['https://256.1.1.1/', 'url'],
    ['https://example.com:99999/', 'url'],
    ['file:///etc/passwd', 'scheme'],
    ['ftp://example.com/', 'scheme'],
    ['gopher://example.com/', 'scheme'],
    ['data:text/plain,x', 'scheme'],
    ['unix:/var/run/docker.sock', 'scheme'],
    ['ws://example.com/', 'scheme'],
    ['http://example.com/', 'scheme'],
    ['https://user@example.com/', 'credentials'],
    ['https://user:secret@example.com/', 'credentials'],
    ['https://:secret@example.com/', 'credentials'],
    ['https://example.com:22/', 'port'],
    ['https://example.com:25/', 'port'],
    ['https://example.com:0/', 'port'],
    ['https://example.com:6667/', 'port'],
    ['https://example..com/', 'host'],
    ['https://.example.com/', 'host'],
    ['https://example.com../', 'host'],
    ["https://a'b.example.com/", 'host'],
    ['https://-a.example.com/', 'host'],
    [`https://${'a'.repeat(64)}.com/`, 'host'],
    [`https://${'a.'.repeat(130)}com/`, 'host'],
    ['https://localhost/', 'host'],
    ['https://LOCALHOST./', 'host'],
    ['https://loc%61lhost/', 'host'],
    ['https://a.localhost/', 'host'],
    ['https://intranet/', 'host'],
    ['https://printer.local/', 'host'],
    ['https://metadata.google.internal/', 'host'],
    ['https://nas.home.arpa/', 'host'],
    ['https://db.corp/', 'host'],
    ['https://127.0.0.1/', 'address'],
    ['https://2130706433/', 'address'],
    ['https://0x7f000001/', 'address'],
    ['https://017700000001/', 'address'],
    ['https://127.1/', 'address'],
    ['https://0/', 'address'],
    ['https://①②⑦.0.0.1/', 'address'],
    ['https://169.254.169.254/latest/meta-data/', 'address'],
    ['https://[::]/', 'address'],
    ['https://[::1]/', 'address'],
    ['https://[::ffff:7f00:1]/', 'address'],
    ['https://[::ffff:127.0.0.1]/', 'address'],
    ['https://[64:ff9b::10.0.0.1]/', 'address'],
    ['https://[2002:7f00:1::]/', 'address'],
    ['https://[fd00:ec2::254]/', 'address'],
  ])('is refused: %s because of its %s', (text, reason) => {
    expect(refusal(text).details).toEqual({ reason });
  });

  it.each([
    'http://127.0.0.1:8080/',
    'http://10.0.0.1/',
    'http://[fd12::1]/',
    'http://keycloak/',
    'http://a.internal/',
  ])('may be private with the allowance: %s', (text) => {
    expect(checkedUrl(text, open).isSecure).toBe(false);
  });

  it.each([
    ['http://169.254.169.254/', 'address'],
    ['http://[::ffff:169.254.169.254]/', 'address'],
    ['http://[fe80::1]/', 'address'],
    ['http://0.0.0.0/', 'address'],
    ['http://224.0.0.1/', 'address'],
    ['http://user@10.0.0.1/', 'credentials'],
    ['http://10.0.0.1:25/', 'port'],
    ['ftp://10.0.0.1/', 'scheme'],
  ])('is refused with the allowance too: %s', (text, reason) => {
    expect(refusal(text, open).details).toEqual({ reason });
  });

  it('goes to hosts of the list only, in any spelling', () => {
    const listed = { ...strict, allowedHosts: ['mcp.example.com', '8.8.8.8', '127.0.0.1'] };
    expect(checkedUrl('https://MCP.example.com./', listed).host).toBe('mcp.example.com');
    expect(checkedUrl('https://134744072/', listed).host).toBe('8.8.8.8');
    expect(refusal('https://example.com/', listed).details).toEqual({ reason: 'host' });
    expect(refusal('https://a.mcp.example.com/', listed).details).toEqual({ reason: 'host' });
    // The list does not open what is private.
    expect(refusal('https://127.0.0.1/', listed).details).toEqual({ reason: 'address' });
  });

  it('is refused with a text that names what is wrong and the setting, and no secret', () => {
    expect(refusal('https://10.1.2.3/').message).toBe(
      'The address 10.1.2.3 is not public. The operator can allow it for tests with [tests] private.',
    );
    expect(refusal('https://example.com/', { ...strict, allowedHosts: ['a.example.com'] }).message).toBe(
      "The host 'example.com' is not in the list of allowed hosts; the operator can add it to [tests] hosts",
    );
    expect(refusal('https://127.0.0.1/', { ...strict, privateSetting: undefined }).message).toBe(
      'The address 127.0.0.1 is not public. Nothing allows this for tests.',
    );
    expect(
      refusal('https://example.com/', { ...strict, allowedHosts: ['b.c'], hostsSetting: undefined }).message,
    ).toBe("The host 'example.com' is not in the list of allowed hosts");
    for (const text of [
      'https://me:hush-hush@example.com/',
      'http://example.com/?token=hush-hush',
      'x:hush-hush',
    ])
      expect(refusal(text).message).not.toContain('hush');
  });
});
