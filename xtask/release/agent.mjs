/** An agent that starts the installed MCP server and calls a tool. */
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const client = new Client({ name: 'rehearsal', version: '1' }, { versionNegotiation: { mode: 'auto' } });
const command = 'node_modules/.bin/voice-calling-mcp';
await client.connect(new StdioClientTransport({ command, args: ['--read-only'], env: process.env }));
const found = await client.callTool({ name: 'list-agents', arguments: { 'organization-id': 'org-1' } });
console.log(JSON.stringify(found.content));
await client.close();
