import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '#test/tidy/source-file.ts';
import { type ProgramOutcome, runProgram } from './run-program.ts';

/** It neither reports its use nor asks for newer versions of itself. */
const quiet = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' } as const;

/** Runs the tools for OpenAPI descriptions. */
export function runRedocly(args: readonly string[]): Promise<ProgramOutcome> {
  return runProgram('node_modules/@redocly/cli/bin/cli.js', args, quiet);
}

interface Linted {
  readonly problems: readonly {
    readonly ruleId: string;
    readonly message: string;
    readonly location: readonly { readonly pointer: string }[];
  }[];
}

/** The contract has these addresses beside `/auth/{repo}/…`: a repository of that name logs in by other addresses. */
const givenAddress = '`/auth/oidc/{provider}`';

/**
 * Lints a description with the configuration of the project, apart from an address that the contract gives.
 *
 * @returns what is wrong with it, as `rule: message place`
 */
export async function lintDescription(document: unknown): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'grove-description-'));
  try {
    const file = join(folder, 'openapi.json');
    writeFileSync(file, JSON.stringify(document));
    const config = ['--config', join(projectRoot, 'redocly.yaml'), '--lint-config', 'error'];
    const { stdout, stderr } = await runRedocly([
      ...['lint', file, ...config],
      ...['--format', 'json', '--max-problems', '1000'],
    ]);
    if (!stdout.startsWith('{')) throw new Error(`the linter says: ${stdout}${stderr}`);
    return (JSON.parse(stdout) as Linted).problems
      .filter(({ message, ruleId }) => ruleId !== 'no-ambiguous-paths' || !message.includes(givenAddress))
      .map(({ location, message, ruleId }) => `${ruleId}: ${message} ${location[0]?.pointer ?? ''}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
