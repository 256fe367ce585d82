/**
 * The alias of a workspace in statements, where a bare name cannot have the characters of its name: its words, each with a
 * capital. `svc:access_control` is `SvcAccessControl`, `site-media` is `SiteMedia`.
 */
export function workspaceAlias(name: string): string {
  return name
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');
}
