import { access, type Route, reply, route } from 'agent-gateway';
import Type from 'typebox';

const PAGE = `<!doctype html>
<html lang="en">
<title>kebab-name</title>
<h1>kebab-name</h1>
<p>This page is served by the plugin kebab-name.</p>
</html>
`;

/**
 * A page that anybody may see. Nothing of a tenant is in it: what it shows it asks the API for, with the visitor's
 * credential.
 */
export const page: Route = route({
  method: 'GET',
  path: '/kebab-name',
  access: access.public(),
  summary: 'The page of kebab-name',
  tag: 'kebab-name',
  answerType: 'text/html; charset=utf-8',
  schema: { responses: { 200: Type.String() } },
  handle: () =>
    reply.text(PAGE, 'text/html; charset=utf-8', { 'content-security-policy': "default-src 'self'" }),
});
