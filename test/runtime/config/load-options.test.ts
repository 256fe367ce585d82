import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { helpText } from '#runtime/config/help-text.ts';
import { type Environment, loadOptions, optionWarnings } from '#runtime/config/load-options.ts';
import { OptionError } from '#runtime/config/option.ts';
import { defaultLimits, fileSections, optionEntries } from '#runtime/config/options.ts';

const noFile = (): undefined => undefined;
const withFile = (text: string) => (path: string) => (path === './svc.toml' ? text : undefined);
const strongPassword = 'Correct-Horse-7';

/** The problems of a configuration; a configuration without any fails the test. */
function problemsOf(
  env: Environment,
  readFile: (path: string) => string | undefined = noFile,
): readonly string[] {
  try {
    loadOptions(env, readFile);
  } catch (error) {
    if (error instanceof OptionError) return error.problems;
    throw error;
  }
  return expect.unreachable('the configuration was accepted');
}

describe('the source of an option', () => {
  it('is the default when nothing sets it', () => {
    const { server, cluster, limits } = loadOptions({}, noFile);
    expect(server).toMatchObject({ port: 8080, host: '127.0.0.1', dataDir: './data', logLevel: 'info' });
    expect(server).toMatchObject({ trustForwardedHeaders: false, corsAllowedOrigins: [] });
    expect([server.baseUrl, server.jwtSecret, server.masterKey, server.adminPassword]).toEqual(
      new Array(4).fill(undefined),
    );
    expect(cluster.durability).toBe('automatic');
    expect(limits).toEqual(defaultLimits);
    expect(limits).toMatchObject({
      bodyBytesMax: 16 * 1024 * 1024,
      jsonDepthMax: 128,
      commitNodesMax: 100_000,
      idempotencyTtlHours: 24,
      idempotencyEntriesMax: 1_000_000,
    });
  });

  it('is the file before the default', () => {
    const text = [
      '[server]',
      'port = 9000',
      'cors_allowed_origins = ["https://a.example", "https://b.example"]',
      'trust_forwarded_headers = true',
      '[cluster]',
      'durability = "relaxed"',
      '[limits]',
      'body_bytes_max = 1_048_576',
      '[locks]',
      'enabled = false',
    ].join('\n');
    const options = loadOptions({}, withFile(text));
    expect(options.server).toMatchObject({
      port: 9000,
      corsAllowedOrigins: ['https://a.example', 'https://b.example'],
      trustForwardedHeaders: true,
    });
    expect(options.cluster.durability).toBe('relaxed');
    expect(options.locks.enabled).toBe(false);
    expect(options.limits.bodyBytesMax).toBe(1_048_576);
  });

  it('is the environment before the file [CONF-004]', () => {
    const env = {
      PORT: '0',
      SVC_HOST: '::1',
      SVC_TRUST_FORWARDED_HEADERS: '1',
      SVC_CORS_ALLOWED_ORIGINS: 'https://a.example, https://b.example',
    };
    const { server } = loadOptions(env, withFile('[server]\nport = 9000\nhost = "0.0.0.0"'));
    expect(server).toMatchObject({
      port: 0,
      host: '::1',
      trustForwardedHeaders: true,
      corsAllowedOrigins: ['https://a.example', 'https://b.example'],
    });
  });

  it('is 0 where it is `off`, for a number that can be off', () => {
    const msOf = (env: Readonly<Record<string, string>>, file = ''): number =>
      loadOptions(env, withFile(file)).server.slowStatementMs;
    expect(msOf({})).toBe(1_000);
    expect(msOf({ SVC_SLOW_STATEMENT_MS: 'off' })).toBe(0);
    expect(msOf({ SVC_SLOW_STATEMENT_MS: '0' })).toBe(0);
    expect(msOf({ SVC_SLOW_STATEMENT_MS: '250' })).toBe(250);
    expect(msOf({}, '[server]\nslow_statement_ms = "off"')).toBe(0);
    expect(problemsOf({ SVC_SLOW_STATEMENT_MS: 'never' })).toEqual([
      "SVC_SLOW_STATEMENT_MS must be a whole number from 0 to 3600000 (milliseconds), or off, not 'never'",
    ]);
    expect(problemsOf({ PORT: 'off' })).toEqual([expect.stringContaining('PORT must be a whole number')]);
  });

  it('is not an environment variable that is set to nothing', () => {
    expect(loadOptions({ PORT: '', SVC_BASE_URL: '' }, noFile).server.port).toBe(8080);
  });

  it.each([
    ['SVC_NATS_URL', ',,'],
    ['SVC_NATS_URL', ' '],
    ['SVC_NATS_URL', 'nats://a:4222,'],
    ['SVC_NATS_URL', 'nats://a:4222,,nats://b:4222'],
    ['SVC_CORS_ALLOWED_ORIGINS', ', https://a.example'],
  ])('is not a list with an empty entry: %s=%j', (name, text) => {
    const problems = problemsOf({ [name]: text });
    expect(problems).toContain(
      `${name} has an empty entry: separate the entries with one comma each, or unset it`,
    );
  });

  it('is `*` alone, or a list of origins', () => {
    expect(loadOptions({ SVC_CORS_ALLOWED_ORIGINS: '*' }, noFile).server.corsAllowedOrigins).toEqual(['*']);
    expect(problemsOf({ SVC_CORS_ALLOWED_ORIGINS: '*,http://a' })).toEqual([
      "SVC_CORS_ALLOWED_ORIGINS must be '*' alone, or a list without it",
    ]);
  });

  it('is no list where its variable is set to nothing', () => {
    const { server } = loadOptions({ SVC_NATS_URL: '', SVC_CORS_ALLOWED_ORIGINS: '' }, noFile);
    expect(server).toMatchObject({ natsUrl: [], corsAllowedOrigins: [] });
  });

  it('names a configuration file that is a folder, with everything else that is wrong', () => {
    const read = (path: string): string => readFileSync(path, 'utf8');
    expect(problemsOf({ SVC_CONFIG: '/tmp', PORT: 'x' }, read)).toEqual([
      'the configuration file /tmp cannot be read (it is a folder): set SVC_CONFIG to a file that the user of the server can read',
      expect.stringContaining('PORT'),
    ]);
  });

  it('is the file that SVC_CONFIG names, and that one only [CONF-004]', () => {
    const files: Readonly<Record<string, string>> = {
      './svc.toml': '[server]\nport = 1111',
      '/etc/grove.toml': '[server]\nport = 2222',
    };
    const read = (path: string): string | undefined => files[path];
    expect(loadOptions({ SVC_CONFIG: '/etc/grove.toml' }, read).server.port).toBe(2222);
    expect(loadOptions({}, read).server.port).toBe(1111);
    expect(problemsOf({ SVC_CONFIG: '/absent.toml' }, read)).toEqual([
      'SVC_CONFIG names /absent.toml, which does not exist',
    ]);
  });

  it('passes on errors while the file is read that are not of the system', () => {
    const read = (): never => {
      throw new TypeError('not of the system');
    };
    expect(() => loadOptions({}, read)).toThrow(TypeError);
  });
});

describe('a configuration that cannot be used', () => {
  it.each([
    ['[serverr]\nport = 1', 'unknown section [serverr] (did you mean server?); known are server, cluster'],
    ['[outgoing]\na = 1', 'unknown section [outgoing]; known are'],
    ['[server]\nprot = 1', '[server] prot is unknown (did you mean port?)'],
    ['[server]\nbody_bytes_max = 1', '[server] body_bytes_max is unknown; it belongs into section [limits]'],
    ['[server]\nzzzzzzz = 1', '[server] zzzzzzz is unknown'],
    [
      '[functions]\nzzzzzzz = 1',
      '[functions] zzzzzzz is unknown; the section has no options in this version',
    ],
    ['port = 1', 'port stands outside of a section; it belongs into section [server]'],
  ])('names an unknown section or key: %j [CONF-005]', (text, expected) => {
    const problems = problemsOf({}, withFile(text));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain('./svc.toml');
    expect(problems[0]).toContain(expected);
  });

  it.each([
    ['server = 1', 'server must be a section: write [server]'],
    ['[server]\nport = "8080"', "[server] port must be a whole number from 0 to 65535 (port), not '8080'"],
    ['[server]\nport = 1.5', 'not 1.5'],
    [
      '[server]\ntrust_forwarded_headers = 1',
      '[server] trust_forwarded_headers must be true or false, not 1',
    ],
    ['[server]\ndata_dir = ""', "[server] data_dir must be a text, not ''"],
    ['[server]\ndata_dir = ["a"]', '[server] data_dir must be a text, not a list'],
    ['[server]\nhost = "http://a"', 'must be a host name or an IP address'],
    ['[server]\nhost = "a:80"', 'must be a host name or an IP address'],
    ['[server]\ncors_allowed_origins = "*"', 'must be a list of texts'],
    ['[server]\ncors_allowed_origins = ["a.example"]', 'must be an origin like'],
    ['[server]\ncors_allowed_origins = ["*", "http://a"]', "must be '*' alone, or a list without it"],
    ['[cluster]\ndurability = "relaxd"', "(did you mean 'relaxed'?)"],
    ['[cluster]\npartitions = 0', 'partitions must be'],
    ['[server]\nnats_url = ["http://a"]', 'must be addresses like nats://host:4222'],
    ['[server]\nmember_id = "a b"', 'must be 1 to 200 printable ASCII characters'],
    ['[cluster]\nname = "Grove"', "must be 1 to 32 lower-case letters, digits and '-'"],
    ['[cluster]\nnats_monitor_urls = ["nats://a"]', 'must be an address like http://host:8222'],
    [
      '[server]\nmaster_key = "00"',
      'master_key may not stand in a file; set the environment variable SVC_MASTER_KEY',
    ],
  ])('names the key and what it expects: %j [CONF-006]', (text, expected) => {
    const problems = problemsOf({}, withFile(text));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain('./svc.toml');
    expect(problems[0]).toContain(expected);
  });

  it('points into a file that is not TOML, without quoting it', () => {
    const [problem] = problemsOf({}, withFile('[server]\nkey = hunter2 hunter2'));
    expect(problem).toMatch(/^\.\/svc\.toml:2:\d+: /);
    expect(problem).not.toContain('hunter2');
  });

  it.each([
    ['PORT', '80a'],
    ['PORT', '65536'],
    ['PORT', '-1'],
    ['SVC_TRUST_FORWARDED_HEADERS', 'yes'],
    ['SVC_LOG_LEVEL', 'verbose'],
    ['SVC_BASE_URL', 'content.example.org'],
    ['SVC_BASE_URL', 'ftp://content.example.org'],
    ['SVC_BASE_URL', 'https://content.example.org/path'],
    ['SVC_BASE_URL', 'https://user:word@content.example.org'],
    ['SVC_MASTER_KEY', 'abc'],
    ['SVC_MASTER_KEY', '0'.repeat(63)],
    ['SVC_CORS_ALLOWED_ORIGINS', 'https://a.example/x'],
  ])('refuses %s=%s and names the variable', (name, value) => {
    const problems = problemsOf({ [name]: value });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(new RegExp(`^${name} must `));
  });

  it.each([
    ['JWT_SECRET', 'guess-me'],
    ['JWT_SECRET', 'a'],
    ['JWT_SECRET', 'guess'.repeat(20)],
    ['SVC_MASTER_KEY', '0'.repeat(64)],
    ['SVC_MASTER_KEY', 'deadbeef'.repeat(8)],
  ])('refuses a weak %s, saying how to make one and not what it is', (name, value) => {
    const [problem, ...others] = problemsOf({ [name]: value });
    expect(others).toEqual([]);
    expect(problem).toMatch(new RegExp(`^${name} is too weak.*openssl rand`));
    expect(problem).not.toContain(value.slice(0, 8) === 'a' ? "'a'" : value);
  });

  it('refuses a cluster whose members would have keys of their own', () => {
    const problems = problemsOf({ SVC_NATS_URL: 'nats://a:4222,nats://b:4222' });
    expect(problems).toEqual([
      expect.stringContaining('a cluster needs JWT_SECRET, the same on all members'),
      expect.stringContaining('a cluster needs SVC_MASTER_KEY, the same on all members'),
    ]);
  });

  it('refuses a durability class of the other mode', () => {
    const keys = {
      JWT_SECRET: 'a signing key of more than 32 bytes',
      SVC_MASTER_KEY: '0123456789abcdef'.repeat(4),
    };
    const relaxed = withFile('[cluster]\ndurability = "relaxed"');
    expect(problemsOf({ ...keys, SVC_NATS_URL: 'nats://a:4222' }, relaxed)).toEqual([
      expect.stringContaining('is a class of a single member; choose quorum'),
    ]);
    expect(problemsOf({}, withFile('[cluster]\ndurability = "quorum-disk"'))).toEqual([
      expect.stringContaining('is a class of clusters; set SVC_NATS_URL'),
    ]);
  });

  it('checks the file also where the environment wins', () => {
    expect(problemsOf({ PORT: '1' }, withFile('[server]\nport = "x"'))).toHaveLength(1);
  });

  it('reports every problem at once', () => {
    const problems = problemsOf({ PORT: 'x', SVC_ADMIN_PASSWORD: 'short' }, withFile('[server]\nhots = "a"'));
    expect(problems).toHaveLength(3);
    expect(new OptionError(problems).message).toContain('3 problems');
  });

  it.each([
    ['mailbox_max = 100', 'mailbox_max (100) is below batch_commands_max (512)'],
    [
      'journal_segment_bytes = 1_048_576',
      'journal_segment_bytes (1048576) is below batch_bytes_max (4194304)',
    ],
    [
      'apply_pending_bytes_max = 1_048_576',
      'apply_pending_bytes_max (1048576) is below batch_bytes_max (4194304)',
    ],
  ])('names the remedy for limits that do not fit each other: %s', (line, expected) => {
    const [problem, ...others] = problemsOf({}, withFile(`[limits]\n${line}`));
    expect(others).toEqual([]);
    expect(problem).toContain(expected);
    expect(problem).toMatch(/; raise \w+ or lower \w+$/);
  });
});

describe('the password of the first administrator', () => {
  it.each([
    ['Short-7aaaa', ['at least 12 characters']],
    ['alllowercaseletters', ['an upper-case letter', 'a digit', 'neither letter nor digit']],
    ['NO-LOWER-CASE-7', ['a lower-case letter']],
    ['No-Digit-In-Here', ['a digit']],
    ['NoOtherCharacter7', ['neither letter nor digit']],
  ])('refuses %s and lists what it lacks, without repeating it', (password, lacks) => {
    const [problem, ...others] = problemsOf({ SVC_ADMIN_PASSWORD: password });
    expect(others).toEqual([]);
    for (const lack of lacks) expect(problem).toContain(lack);
    expect((problem as string).split('needs ')[1]?.split(', ')).toHaveLength(lacks.length);
    expect(problem).not.toContain(password);
  });

  it('takes one of four classes and twelve characters', () => {
    const { server } = loadOptions({ SVC_ADMIN_PASSWORD: strongPassword }, noFile);
    expect(server.adminPassword?.reveal()).toBe(strongPassword);
  });
});

describe('loaded options', () => {
  it('cannot be changed', () => {
    const options = loadOptions({}, noFile);
    expect(Object.isFrozen(options)).toBe(true);
    for (const section of Object.values(options)) expect(Object.isFrozen(section)).toBe(true);
    expect(Object.isFrozen(options.server.corsAllowedOrigins)).toBe(true);
  });

  it('do not show secrets when they are printed, logged or serialized', () => {
    const masterKey = '0123456789abcdef'.repeat(4);
    const env = {
      JWT_SECRET: 'jwt-secret-value-of-more-than-32-bytes',
      SVC_MASTER_KEY: masterKey,
      SVC_ADMIN_PASSWORD: strongPassword,
    };
    const options = loadOptions(env, noFile);
    const shown = [
      inspect(options, { depth: 9, showHidden: true }),
      JSON.stringify(options),
      String(options.server.jwtSecret),
      `${options.server.masterKey}`,
    ].join('\n');
    for (const secret of Object.values(env)) expect(shown).not.toContain(secret);
    expect(options.server.jwtSecret?.reveal()).toBe('jwt-secret-value-of-more-than-32-bytes');
  });

  it('have base URLs and origins in their canonical form', () => {
    const { server } = loadOptions({ SVC_BASE_URL: 'HTTPS://Content.Example.org:443/' }, noFile);
    expect(server.baseUrl).toBe('https://content.example.org');
  });

  it('take any whole number inside of the bounds and none outside', () => {
    // What an older version took besides is tested below.
    const integers = optionEntries.filter(
      ({ option }) => option.unit !== undefined && option.loweredTo === undefined,
    );
    fc.assert(
      fc.property(fc.constantFrom(...integers), fc.integer(), (entry, offset) => {
        const [min, max] = (/(\d+) to (\d+)/.exec(entry.option.type) as unknown as string[])
          .slice(1)
          .map(Number);
        for (const value of [min, max, (min as number) - 1, (max as number) + 1, offset] as number[]) {
          const isInside = value >= (min as number) && value <= (max as number);
          const read = (): unknown => entry.option.fromToml(value);
          if (isInside) expect(read()).toBe(value);
          else expect(read).toThrow(OptionError);
        }
      }),
    );
  });
});

describe('warnings at the start', () => {
  const warningsOf = (env: Environment): string[] => optionWarnings(loadOptions(env, noFile), env);

  it('are none for the defaults and for a complete production environment', () => {
    expect(warningsOf({ PATH: '/bin', SVC_CONFIG: '', SVC_CRASH_POINT: '' })).toEqual([]);
    expect(
      warningsOf({
        JWT_SECRET: 'a signing key of more than 32 bytes',
        SVC_HOST: '0.0.0.0',
        SVC_BASE_URL: 'https://content.example.org',
      }),
    ).toEqual([]);
  });

  it('report a value that an older version accepted, which counts as the maximum now', () => {
    const said: string[] = [];
    const read = (bytes: number) =>
      loadOptions(
        {},
        withFile(`[limits]\npath_bytes_max = ${bytes}`),
        (sentence) => void said.push(sentence),
      );
    expect(read(8_192).limits.pathBytesMax).toBe(8_192);
    expect(said).toEqual([]);
    expect(read(12_288).limits.pathBytesMax).toBe(8_192);
    expect(said).toEqual([expect.stringMatching(/^\[limits\] path_bytes_max is 12288 and counts as 8192: /)]);
    expect(() => read(255)).toThrow('a whole number from 256 to 8192 (bytes)');
    expect(() => read(12_289)).toThrow('a whole number from 256 to 8192 (bytes)');
  });

  it('name variables of ours that are not read, with the closest known name', () => {
    expect(warningsOf({ SVC_HOSST: 'a', SVC_UNHEARD_OF: 'b' })).toEqual([
      'environment variable SVC_HOSST is not used (did you mean SVC_HOST?)',
      'environment variable SVC_UNHEARD_OF is not used',
    ]);
  });

  it('report an address open to the outside without an external origin', () => {
    expect(warningsOf({ SVC_HOST: '0.0.0.0' })[0]).toContain('SVC_BASE_URL');
  });
});

describe('the table of options', () => {
  it('has defaults that its own checks accept', () => {
    for (const { option, name } of optionEntries) {
      if (option.defaultValue === undefined) continue;
      expect(option.fromToml(option.defaultValue), name).toEqual(option.defaultValue);
    }
  });

  it('describes for each number the effect of too low and too high values', () => {
    for (const { option, name } of optionEntries.filter((entry) => entry.fileSection === 'limits')) {
      expect(option.description, name).toMatch(/Too low .*too high /s);
    }
  });

  it('uses each key and each environment variable once', () => {
    const keys = optionEntries.map(({ fileKey }) => fileKey);
    const variables = optionEntries.flatMap(({ option }) => option.environment ?? []);
    expect(new Set(keys).size).toBe(keys.length);
    expect(new Set(variables).size).toBe(variables.length);
    expect(fileSections).toEqual([
      'server',
      'cluster',
      'locks',
      'email',
      'egress',
      'mcp_client',
      'functions',
      'limits',
    ]);
  });

  it('is printed whole by the help text, in lines of at most 100 characters', () => {
    const help = helpText();
    for (const { option, fileKey } of optionEntries) {
      expect(help).toContain(option.isEnvironmentOnly ? option.environment : fileKey);
    }
    for (const line of help.split('\n')) expect(line.length, line).toBeLessThanOrEqual(100);
    expect(help.replace(/\s+/g, ' ')).toContain(optionEntries.at(-1)?.option.description.replaceAll('`', ''));
  });
});
