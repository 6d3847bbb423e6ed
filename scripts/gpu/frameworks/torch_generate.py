"""Text generation by a small transformers model: a static cache, compiled in mode reduce-overhead, so
launched by CUDA graphs."""
import os

os.environ["HF_HUB_OFFLINE"] = "1"
import torch  # noqa: E402
from transformers import CompileConfig, LlamaConfig, LlamaForCausalLM, StaticCache  # noqa: E402

NEW_TOKENS = 24
torch.manual_seed(1)
config = LlamaConfig(vocab_size=512, hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4,
                     num_key_value_heads=2, max_position_embeddings=128)
model = LlamaForCausalLM(config).cuda().half().eval()
prompt = torch.arange(1, 17, device="cuda")[None]
cache = StaticCache(config=config, max_cache_len=64)


def generate(**more):
    cache.reset()
    return model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=NEW_TOKENS, do_sample=False, pad_token_id=0,
                          eos_token_id=None, past_key_values=cache, **more)


generate(disable_compile=True)  # the cache creates its tensors
for layer in cache.layers:  # Inductor captures no graph that writes to memory whose address may change
    for value in vars(layer).values():
        if isinstance(value, torch.Tensor):
            torch._dynamo.mark_static_address(value)
for _ in range(3):
    tokens = generate(compile_config=CompileConfig(mode="reduce-overhead"))
print(tokens.tolist())
