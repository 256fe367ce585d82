import { expect, it } from 'vitest';
import { mcpClientAllowance, oidcAllowance } from '#protocols/egress/allowance.ts';
import { checkedUrl } from '#protocols/egress/checked-url.ts';
import { loadOptions } from '#runtime/config/load-options.ts';
import type { Options } from '#runtime/config/options.ts';

function optionsOf(toml: string): Options {
  return loadOptions({ SVC_CONFIG: 'svc.toml' }, () => toml);
}

it('opens nothing private unless the operator says so, for each purpose alone', () => {
  const defaults = optionsOf('');
  expect(oidcAllowance(defaults.egress).allowPrivateAddresses).toBe(false);
  expect(mcpClientAllowance(defaults.mcpClient)).toMatchObject({
    allowedHosts: [],
    allowPrivateAddresses: false,
    responseBytesMax: 8_388_608,
    timeoutMs: 30_000,
  });
  const oidc = optionsOf('[egress]\noidc_allow_private = true');
  expect(oidcAllowance(oidc.egress).allowPrivateAddresses).toBe(true);
  expect(mcpClientAllowance(oidc.mcpClient).allowPrivateAddresses).toBe(false);
  const mcp = optionsOf('[mcp_client]\nallow_private_addresses = true');
  expect(oidcAllowance(mcp.egress).allowPrivateAddresses).toBe(false);
  expect(mcpClientAllowance(mcp.mcpClient).allowPrivateAddresses).toBe(true);
});

it('takes the limits of remote MCP servers from the configuration', () => {
  const { mcpClient } = optionsOf('[mcp_client]\nmax_response_bytes = 2048\ndefault_timeout_ms = 600000');
  const allowance = mcpClientAllowance(mcpClient);
  expect(allowance).toMatchObject({ responseBytesMax: 2_048, timeoutMs: 600_000, timeoutMsMax: 600_000 });
});

it('compares hosts of the list with URLs in one spelling', () => {
  const hosts = [
    'MCP.Example.com.',
    'bücher.example',
    '0x08.8.8.8',
    '[2606:4700:0::1111]',
    '2606:4700::1112',
  ];
  const { mcpClient } = optionsOf(
    `[mcp_client]\nallowed_hosts = ${JSON.stringify(hosts)}\nallow_private_addresses = true`,
  );
  const allowance = mcpClientAllowance(mcpClient);
  expect(allowance.allowedHosts).toEqual([
    'mcp.example.com',
    'xn--bcher-kva.example',
    '8.8.8.8',
    '2606:4700::1111',
    '2606:4700::1112',
  ]);
  for (const host of [
    'mcp.example.com',
    'BÜCHER.example.',
    '8.8.8.8',
    '[2606:4700::1111]',
    '[2606:4700::1112]',
  ])
    expect(checkedUrl(`https://${host}/`, allowance).isSecure).toBe(true);
});

it.each([
  'https://example.com',
  'example.com:443',
  'example.com/',
  'a b',
  'me@example.com',
  '*',
  '',
  '[::1',
  '[::1]:80',
  'fe80::1%eth0',
])('refuses %j in the list of hosts', (host) => {
  const text = `[mcp_client]\nallowed_hosts = [${JSON.stringify(host)}]`;
  expect(() => optionsOf(text)).toThrow('[mcp_client] allowed_hosts must be host names or IP addresses');
});
