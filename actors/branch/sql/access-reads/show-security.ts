import { type SecurityConfig, securityConfigOf } from '#runtime/access/roles/access-nodes.ts';
import { decidingConfig } from '#runtime/access/roles/grants.ts';
import { isJsonObject, type JsonValue, ownValue } from '#runtime/content/values/json-value.ts';
import type { Row } from '#runtime/sql-exec/operator.ts';
import type { ShowSecurityStatement } from '#runtime/sql-syntax/nodes/access-nodes.ts';
import { booleanType, textType } from '#runtime/sql-values/types/basic-types.ts';
import { type CatalogNode, SECURITY_TYPE, textOf } from '../../access/access-catalog.ts';
import type { AccessAnswer, AccessSource } from './access-answer.ts';

/** Settings that are shown as they are stored. */
const SETTINGS = ['default_policy', 'anonymous_enabled', 'anonymous_role'];

/** Settings compared before a pause. */
const CONFIGS_STEP = 64;

/** `SHOW SECURITY CONFIG`: all settings of workspaces, or those that decide for one. */
export function showSecurity(source: AccessSource, { workspace }: ShowSecurityStatement): AccessAnswer {
  if (workspace !== undefined)
    return {
      columns: ['workspace_pattern', 'setting', 'value'].map((name) => ({ name, type: textType })),
      rows: settingRows(source, source.text(workspace)),
    };
  return {
    columns: [
      { name: 'workspace_pattern', type: textType },
      { name: 'default_policy', type: textType },
      { name: 'anonymous_enabled', type: booleanType },
    ],
    rows: configRows(source),
  };
}

function* configRows({ catalog }: AccessSource): Generator<Row | undefined, void> {
  for (const node of catalog.all(SECURITY_TYPE)) {
    if (node === undefined) yield undefined;
    else {
      const isEnabled = ownValue(node.properties, 'anonymous_enabled');
      yield [
        textOf(node, 'workspace'),
        textOf(node, 'default_policy'),
        typeof isEnabled === 'boolean' ? isEnabled : null,
      ];
    }
  }
}

/** The settings that decide for a workspace, or those of exactly this pattern. */
function* settingRows({ catalog }: AccessSource, workspace: string): Generator<Row | undefined, void> {
  const nodes = new Map<string, CatalogNode>();
  let deciding: SecurityConfig | undefined;
  for (const node of catalog.all(SECURITY_TYPE)) {
    if (node === undefined) {
      yield undefined;
      continue;
    }
    if (textOf(node, 'workspace') === workspace) return yield* rowsOf(node);
    const config = securityConfigOf(node);
    if (config === undefined) continue;
    const configs: readonly SecurityConfig[] = deciding === undefined ? [config] : [deciding, config];
    deciding = decidingConfig(configs, workspace);
    nodes.set(node.path, node);
    if (nodes.size % CONFIGS_STEP === 0) yield undefined;
  }
  const node = deciding === undefined ? undefined : nodes.get(deciding.path);
  if (node !== undefined) yield* rowsOf(node);
}

function* rowsOf(node: CatalogNode): Generator<Row, void> {
  const pattern = textOf(node, 'workspace');
  for (const setting of SETTINGS) {
    const value = ownValue(node.properties, setting);
    if (value !== undefined && value !== null) yield [pattern, setting, textIn(value)];
  }
  const interfaces = ownValue(node.properties, 'interfaces');
  if (interfaces === undefined || !isJsonObject(interfaces)) return;
  for (const [name, settings] of Object.entries(interfaces)) {
    if (!isJsonObject(settings)) continue;
    for (const [key, value] of Object.entries(settings))
      yield [pattern, `interfaces.${name}.${key}`, textIn(value as JsonValue)];
  }
}

function textIn(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
